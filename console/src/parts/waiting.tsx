/** Shown while a part of the console is loaded. */
import { Center, Loader } from '@mantine/core'
import { texts } from '../texts/texts.ts'

export const Waiting = () => (
  <Center p="xl">
    <Loader aria-label={texts.loading} role="status" />
  </Center>
)
