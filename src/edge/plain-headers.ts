/** The headers of a plain read, by neutral name. */

/** Headers that change nothing about the response to a read, except by the signature that covers them. */
export const IGNORED_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'amz-sdk-invocation-id',
  'amz-sdk-request',
  'cache-control',
  'connection',
  'pragma',
  'referer',
  'user-agent',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-real-ip',
  ':content-sha256',
  ':date',
  ':user-agent',
])

/** Sent by SDKs with every read, to check the bytes that they receive. */
export const CHECKSUM_MODE = ':checksum-mode'
export const CHECKSUM_MODE_ON = 'ENABLED'
