/** The id under which the server logged a request. */
import { Code, Text } from '@mantine/core'
import { texts } from '../texts/texts.ts'

export const RequestId = ({ id }: { readonly id: string }) => (
  <Text size="xs">
    {texts.errors.requestId} <Code>{id}</Code>
  </Text>
)
