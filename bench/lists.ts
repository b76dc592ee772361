/** Listings, a page of 1,000 at a random place: the cost of a page must not depend on the size of the bucket. */
import { randomBytes } from 'node:crypto'
import type { Write } from '../src/meta/meta.ts'
import type { Version } from '../src/model/version.ts'
import { versionFormat } from '../src/model/version-record.ts'
import { recordKey } from '../src/store/commit/record-keys.ts'
import type { ListedVersion } from '../src/store/listing/listing.ts'
import type { ListPage } from '../src/store/listing/listing-page.ts'
import { newVersionId } from '../src/store/objects/versions.ts'
import type { Store } from '../src/store/store.ts'
import { inFlight, medians, milliseconds, type Row, rowOf } from './measure.ts'
import { BUCKET, OWNER, type Scene } from './scene.ts'

const PAGE = 1000
const SMALL_KEYS = 10_000
const KEYS_PER_FOLDER = 5
const VERSIONS = 100
const RECORDS_PER_COMMIT = 250
const COMMITS_IN_FLIGHT = 200

/** A filled bucket and its keys in order. */
interface Filled {
  readonly store: Store
  readonly keys: readonly string[]
}

export async function lists(scene: Scene): Promise<Row[]> {
  const rounds = scene.quick ? 20 : 150
  const small = await fill(scene, 'list-small', SMALL_KEYS, 1)
  const large = await fill(scene, 'list-large', scene.quick ? 100_000 : 1_000_000, 1)
  const deep = await fill(scene, 'list-versions', SMALL_KEYS, scene.quick ? 10 : VERSIONS)
  const compare = async (name: string, page: Pager, filled: Filled): Promise<Row> => {
    const [ours, reference] = await medians(rounds, [() => page(filled), () => page(small)])
    return rowOf(name, 'ms', ours!, reference!)
  }
  const rows = [
    await compare('list-1m-vs-10k', plainPage, large),
    await compare('list-delimiter-1m-vs-10k', folderPage, large),
    await compare('list-versions-100-vs-1', plainPage, deep),
    await compare('list-all-versions-100-vs-1', versionPage, deep),
  ]
  await scene.clear()
  return rows
}

/**
 * Version records as an empty PUT writes them, committed directly and in random order: the tree looks as it does after
 * a million PUTs, without the time they take.
 */
async function fill(scene: Scene, name: string, count: number, versions: number): Promise<Filled> {
  const store = await scene.newStore(name, 'os')
  if (versions > 1) await store.buckets.setVersioning(BUCKET, 'on')
  const template = await store.objects.put({ bucket: BUCKET, key: 'template', owner: OWNER, body: [] })
  await store.objects.remove({ bucket: BUCKET, key: 'template', versionId: template.id, owner: OWNER })
  const keys = randomKeys(count)
  const perCommit = Math.max(1, Math.floor(RECORDS_PER_COMMIT / versions))
  await inFlight(COMMITS_IN_FLIGHT, Math.ceil(count / perCommit), i => {
    const some = keys.slice(i * perCommit, (i + 1) * perCommit)
    return store.context.meta.commit({
      checks: [],
      writes: some.flatMap(key => recordsOf(store, template, key, versions)),
    })
  })
  return { store, keys: keys.sort() }
}

/** Keys in random order, five to a folder. */
function randomKeys(count: number): string[] {
  const bytes = randomBytes(count * 12)
  const hex = (start: number, end: number): string => bytes.toString('hex', start, end)
  return Array.from({ length: count }, (_, i) => {
    const folder = (i % Math.ceil(count / KEYS_PER_FOLDER)) * 12
    return `${hex(folder, folder + 6)}/${hex(i * 12 + 6, i * 12 + 12)}`
  })
}

function recordsOf(store: Store, template: Version, key: string, versions: number): Write[] {
  const writes: Write[] = []
  for (let seq = versions; seq >= 1; seq--) {
    const id = versions === 1 ? template.id : newVersionId(store.context, seq)
    const address = seq === versions ? recordKey.current(BUCKET, key) : recordKey.older(BUCKET, key, seq)
    writes.push({ key: address, value: versionFormat.encode({ ...template, seq, id }, address) })
  }
  return writes
}

/** Lists one page and returns the milliseconds it took. */
type Pager = (filled: Filled) => Promise<number>

/** A key followed by at least one page of keys. */
function somewhere({ keys }: Filled, keysPerItem: number): string {
  return keys[Math.floor(Math.random() * (keys.length - (PAGE + 1) * keysPerItem))]!
}

async function timed(list: () => Promise<ListPage<ListedVersion>>, whole: (page: ListPage<ListedVersion>) => boolean) {
  let page: ListPage<ListedVersion> | undefined
  const time = await milliseconds(async () => {
    page = await list()
  })
  if (page === undefined || !whole(page)) throw new Error('a listing did not return a whole page')
  return time
}

const plainPage: Pager = filled => {
  const after = somewhere(filled, 1)
  return timed(
    () => filled.store.listing.objects({ bucket: BUCKET, limit: PAGE, after }),
    page => page.items.length === PAGE,
  )
}

const folderPage: Pager = filled => {
  const after = somewhere(filled, KEYS_PER_FOLDER)
  return timed(
    () => filled.store.listing.objects({ bucket: BUCKET, limit: PAGE, after, delimiter: '/' }),
    page => page.prefixes.length === PAGE,
  )
}

const versionPage: Pager = filled => {
  const key = somewhere(filled, 1)
  return timed(
    () => filled.store.listing.versions({ bucket: BUCKET, limit: PAGE, after: { key } }),
    page => page.items.length === PAGE,
  )
}
