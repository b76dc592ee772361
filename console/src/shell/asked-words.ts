/** The typed words that the server is asked about, once they rest: any of them may be part of a name. */
import { useDebouncedValue } from '@mantine/hooks'

const REST_MS = 200
const LETTERS_MIN = 2
const WORDS_MAX = 4

export const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean)

export function useAskedWords(text: string): { readonly words: readonly string[]; readonly isResting: boolean } {
  const [rested] = useDebouncedValue(text, REST_MS)
  const words = wordsOf(rested).filter(({ length }) => length >= LETTERS_MIN)
  return { words: [...new Set(words)].slice(0, WORDS_MAX), isResting: rested === text }
}
