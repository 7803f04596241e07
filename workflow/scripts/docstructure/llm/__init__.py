"""Text from a language model: requests, engines, the cache of what they answered, and prompts (paper F, H)."""
