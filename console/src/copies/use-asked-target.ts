/** The folder that is being typed, once it rests: the server is not asked about every letter. */
import { useDebouncedValue } from '@mantine/hooks'
import type { FolderPlace } from './folder-place.ts'

const REST_MS = 300

export function useAskedTarget({ bucket, prefix }: FolderPlace): FolderPlace {
  const [askedBucket] = useDebouncedValue(bucket, REST_MS)
  const [askedPrefix] = useDebouncedValue(prefix, REST_MS)
  return { bucket: askedBucket, prefix: askedPrefix }
}
