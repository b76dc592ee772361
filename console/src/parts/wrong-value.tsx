/** Tells that something typed cannot be used, and what to do about it. */
import { Text } from '@mantine/core'

export function WrongValue({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null
  return (
    <Text role="alert" size="sm" c="var(--mantine-color-error)">
      {text}
    </Text>
  )
}
