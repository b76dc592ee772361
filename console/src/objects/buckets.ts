/** Changes of whole buckets. */
import { send, sendDocument, sendForXml, textIn } from './request.ts'

export async function createBucket(
  bucket: string,
  { lock, versioning }: { readonly lock: boolean; readonly versioning: boolean },
): Promise<void> {
  const headers: Record<string, string> = lock ? { 'x-amz-bucket-object-lock-enabled': 'true' } : {}
  await send({ method: 'PUT', bucket, headers })
  // Object Lock brings versioning with it.
  if (versioning && !lock) await setVersioning(bucket, 'Enabled')
}

export async function setVersioning(bucket: string, status: 'Enabled' | 'Suspended'): Promise<void> {
  const body = `<VersioningConfiguration><Status>${status}</Status></VersioningConfiguration>`
  await sendDocument({ method: 'PUT', bucket, query: { versioning: '' } }, body)
}

export async function deleteBucket(bucket: string): Promise<void> {
  await send({ method: 'DELETE', bucket })
}

export type Versioning = 'off' | 'on' | 'suspended'

export async function readVersioning(bucket: string): Promise<Versioning> {
  const status = textIn(await sendForXml({ method: 'GET', bucket, query: { versioning: '' } }), 'Status')
  return status === 'Enabled' ? 'on' : status === 'Suspended' ? 'suspended' : 'off'
}
