/** The held and retained versions of a bucket. */
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'
import type { HeldVersion } from './held-csv.ts'

export type HeldPage = AdminApi['ListHeldVersions']['output']

const PAGE = 500

interface HeldQuestion {
  readonly bucket: string
  readonly prefix: string
  readonly signal?: AbortSignal
}

export const heldPage = ({ bucket, prefix, signal }: HeldQuestion, after: string | undefined): Promise<HeldPage> =>
  call('ListHeldVersions', { bucket, prefix, after, limit: PAGE }, { signal })

/** All pages, one after the other. A page may be empty in the middle of a large bucket. */
export async function* heldPages(question: HeldQuestion): AsyncGenerator<readonly HeldVersion[]> {
  let after: string | undefined
  do {
    const page = await heldPage(question, after)
    yield page.versions
    after = page.next
  } while (after !== undefined)
}
