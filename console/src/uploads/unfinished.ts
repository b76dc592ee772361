/** Multipart uploads of a bucket that were begun and neither completed nor aborted. */
import { childrenOf, send, sendForXml, textIn } from '../objects/request.ts'

export interface UnfinishedUpload {
  readonly key: string
  readonly uploadId: string
  readonly begunAt: Date
  readonly initiator: string
}

export interface UploadMarker {
  readonly key: string
  readonly uploadId: string
}

interface UnfinishedPage {
  readonly uploads: readonly UnfinishedUpload[]
  readonly next: UploadMarker | undefined
}

const decoded = (text: string | undefined): string => decodeURIComponent((text ?? '').replaceAll('+', ' '))

export async function listUnfinished(
  bucket: string,
  after: UploadMarker | undefined,
  signal: AbortSignal,
): Promise<UnfinishedPage> {
  const query = {
    uploads: '',
    'encoding-type': 'url',
    'max-uploads': '100',
    ...(after === undefined ? {} : { 'key-marker': after.key, 'upload-id-marker': after.uploadId }),
  }
  const root = await sendForXml({ method: 'GET', bucket, query }, { signal })
  const uploads = childrenOf(root, 'Upload').map((row): UnfinishedUpload => {
    const [initiator] = childrenOf(row, 'Initiator')
    return {
      key: decoded(textIn(row, 'Key')),
      uploadId: textIn(row, 'UploadId')!,
      begunAt: new Date(textIn(row, 'Initiated')!),
      initiator: (initiator && (textIn(initiator, 'DisplayName') || textIn(initiator, 'ID'))) ?? '',
    }
  })
  const isTruncated = textIn(root, 'IsTruncated') === 'true'
  const next = { key: decoded(textIn(root, 'NextKeyMarker')), uploadId: textIn(root, 'NextUploadIdMarker') ?? '' }
  return { uploads, next: isTruncated ? next : undefined }
}

export async function abortUpload(bucket: string, { key, uploadId }: UploadMarker): Promise<void> {
  await send({ method: 'DELETE', bucket, key, query: { uploadId } })
}
