import type { Version } from '../../model/version.ts'
import type { OperationScope } from '../context.ts'
import type { Header } from '../operation.ts'

/** R18. Which version an answer is about; buckets that never had versions do not speak of them. */
export const versionIdHeader = ({ bucket }: OperationScope, version: Pick<Version, 'id'> | undefined): Header => [
  ':version-id',
  bucket.versioning === 'off' ? undefined : version?.id,
]
