import pytest

from docstructure.llm.access import AccessError, check_access

GATED = {"vllm": {"model": {"hub": "google/gemma", "revision": "abc"}, "gated": True}}
OPEN = {"vllm": {"model": {"hub": "google/gemma", "revision": "abc"}}}


def check(definition, **environment):
    check_access("gemma", definition, environment)


def test_a_gated_model_needs_a_token(tmp_path):
    with pytest.raises(AccessError, match=r"google/gemma is gated.*HF_TOKEN.*never in the config"):
        check(GATED, HF_HOME=str(tmp_path))
    with pytest.raises(AccessError, match="HF_TOKEN"):
        check(GATED, HF_HOME=str(tmp_path), HF_TOKEN=" ")
    check(GATED, HF_HOME=str(tmp_path), HF_TOKEN="hf_x")
    check(GATED, HOME=str(tmp_path), HUGGING_FACE_HUB_TOKEN="hf_x")
    check(OPEN, HF_HOME=str(tmp_path))


def test_a_stored_log_in_is_a_token(tmp_path):
    (tmp_path / "token").write_text("hf_x")
    check(GATED, HF_HOME=str(tmp_path))
    check(GATED, HF_HOME="/nowhere", HF_TOKEN_PATH=str(tmp_path / "token"))


@pytest.mark.parametrize("variable", ["HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_what_is_in_the_local_cache_needs_no_token(tmp_path, variable):
    below = {
        "HF_HOME": "hub",
        "HF_HUB_CACHE": "",
        "XDG_CACHE_HOME": "huggingface/hub",
        "HOME": ".cache/huggingface/hub",
    }
    (tmp_path / below[variable] / "models--google--gemma" / "snapshots" / "abc").mkdir(parents=True)
    check(GATED, HF_HUB_OFFLINE="1", **{variable: str(tmp_path)})
    other = {"vllm": {"model": {"hub": "google/gemma", "revision": "def"}, "gated": True}}
    with pytest.raises(AccessError):
        check(other, **{variable: str(tmp_path)})


def test_offline_needs_the_model_on_disk(tmp_path):
    with pytest.raises(AccessError, match=r"revision abc is not in the local cache.*HF_HUB_OFFLINE"):
        check(OPEN, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1", HF_TOKEN="hf_x")


def test_a_hub_model_states_its_revision(tmp_path):
    with pytest.raises(AccessError, match=r"definitions\.models\.gemma\.vllm\.model\.revision"):
        check({"vllm": {"model": {"hub": "google/gemma"}}}, HF_HOME=str(tmp_path))


def test_a_server_that_wants_a_key_needs_one():
    server = {"openai": {"base_url": "https://h/v1", "model": "m", "api_key_env": "KEY_OF_MINE"}}
    with pytest.raises(AccessError, match=r"KEY_OF_MINE.*definitions\.models\.gemma\.openai\.api_key_env"):
        check(server)
    check(server, KEY_OF_MINE="sk-x")
    check({"openai": {"base_url": "https://h/v1", "model": "m"}})


def test_no_secret_is_said(tmp_path):
    with pytest.raises(AccessError) as error:
        check(OPEN, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1", HF_TOKEN="hf_verysecret")
    assert "verysecret" not in str(error.value)


def test_packaged_models_and_folders_need_nothing():
    check({"transformers": {"model": {"package": "x"}}, "vllm": {"model": {"folder": "x"}}})
