class Solution:
    def longest(self, words: List[str]) -> str:
        return max(words, key=len)
