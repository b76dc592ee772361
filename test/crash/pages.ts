/**
 * Uploads with so many parts that their list takes many records: completing one and reclaiming one, with every commit
 * failing once. The parts are ranges of one stored object, so that they need no bytes of their own.
 */
import { OutcomeUnknown } from '../../src/meta/meta.ts'
import { Fault } from '../../src/model/faults.ts'
import { chance } from './chance.ts'
import { COMMIT_FAULTS, type CommitFault, entriesOf, metaOf } from './failing-meta.ts'
import { abortUploads, audit, settle } from './maintenance.ts'
import { bytesOf } from './payload.ts'
import { makeBuckets, OWNER } from './perform.ts'
import { judge, type Suite } from './suite.ts'
import { type Process, World } from './world.ts'

const PART_BYTES = 5 * 2 ** 20
/** Enough that the list is written ahead in more than one commit. */
const PARTS_MANY = 4_200
/** Enough for three records, and few enough to reclaim many times. */
const PARTS_SOME = 1_000
const SAMPLE_BYTES = 40
export const AT = { bucket: 'plain', key: 'pages' } as const
const SOURCE = { seed: 1, size: PART_BYTES }

export interface Template {
  readonly world: World
  readonly uploadId: string
  readonly parts: readonly { readonly number: number; readonly etag: string }[]
}

export async function prepareUpload(count: number): Promise<Template> {
  const world = await World.create(chance(count))
  const process = await world.start()
  const { store } = process
  await makeBuckets(store)
  const from = { bucket: 'plain', key: 'source' }
  await store.objects.put({ ...from, owner: OWNER, body: bytesOf(SOURCE) })
  const { id } = await store.uploads.create({ ...AT, initiator: OWNER, owner: OWNER })
  const uploadId = id.toString('hex')
  const parts: { number: number; etag: string }[] = []
  for (let number = 1; number <= count; number++) {
    const { etag } = await store.uploads.copyPart({ ...AT, uploadId, number, from })
    parts.push({ number, etag })
  }
  await world.end(process)
  return { world, uploadId, parts }
}

async function copyOf({ world }: Template): Promise<World> {
  return world.withRecords(await metaOf(await entriesOf(world.records)))
}

export const complete = ({ store }: Process, { uploadId, parts }: Template): Promise<unknown> =>
  store.completion.complete({ ...AT, uploadId, parts })

/** True when the object is complete; checks the boundaries of some parts, since the whole would be gigabytes. */
export async function isThere({ store }: Process, { parts }: Template, problems: string[]): Promise<boolean> {
  const version = await store.objects.head(AT).catch(error => {
    if (error instanceof Fault && error.code === 'NoSuchKey') return undefined
    throw error
  })
  if (version === undefined) return false
  if (version.size !== parts.length * PART_BYTES) problems.push(`the object has ${version.size} bytes`)
  const bytes = Buffer.concat(bytesOf(SOURCE))
  const border = Buffer.concat([bytes.subarray(-SAMPLE_BYTES), bytes.subarray(0, SAMPLE_BYTES)])
  for (let part = 1; part < parts.length; part += 97) {
    const at = part * PART_BYTES
    const read: Buffer[] = []
    const handle = await store.objects.open(AT)
    for await (const chunk of handle.read(at - SAMPLE_BYTES, at + SAMPLE_BYTES)) read.push(Buffer.from(chunk))
    if (!Buffer.concat(read).equals(border)) problems.push(`other bytes around ${at}`)
  }
  return true
}

interface Attempted {
  readonly untouched: boolean
  /** Undefined when it was acknowledged. */
  readonly error: unknown
}

async function attempt(
  process: Process,
  n: number,
  fault: CommitFault,
  work: () => Promise<unknown>,
): Promise<Attempted> {
  const before = process.meta.commits
  process.meta.failAt(n, fault)
  const error = await work().then(
    () => undefined,
    reason => reason ?? new Error('nothing'),
  )
  return { untouched: process.meta.commits - before < n, error }
}

/** Completes with the n-th commit failing. */
async function completeOnce(template: Template, fault: CommitFault, n: number, problems: string[]): Promise<boolean> {
  const world = await copyOf(template)
  const process = await world.start()
  const { untouched, error } = await attempt(process, n, fault, () => complete(process, template))
  await world.end(process)
  const next = await world.start()
  let there = await isThere(next, template, problems)
  if (error === undefined && !there) problems.push('acknowledged, and not there')
  if (error !== undefined && !(error instanceof OutcomeUnknown) && there) problems.push(`there, despite ${error}`)
  if (!there) {
    // After any failure the upload still exists and can be completed.
    await settle(next.store)
    await complete(next, template)
    there = await isThere(next, template, problems)
    if (!there) problems.push('completed again, and not there')
  }
  problems.push(...(await audit(next.store)))
  if (!(await isThere(next, template, problems))) problems.push('gone after maintenance')
  await world.end(next)
  return untouched
}

/** Reclaims a completed or an aborted upload with the n-th commit failing. */
async function releaseOnce(template: Template, fault: CommitFault, n: number, problems: string[]): Promise<boolean> {
  const world = await copyOf(template)
  const process = await world.start()
  if (n % 2 === 0) {
    await complete(process, template)
    await process.store.objects.remove({ ...AT, owner: OWNER })
  } else await abortUploads(process.store)
  const { untouched } = await attempt(process, n, fault, () => settle(process.store))
  await world.end(process)
  const next = await world.start()
  problems.push(...(await audit(next.store)))
  for (const kind of ['p', 's', 'c', 'u', 'g']) {
    const [left] = await world.records.scan({ start: Buffer.from(kind), end: Buffer.from([kind.charCodeAt(0) + 1]) }, 1)
    if (left !== undefined) problems.push(`records of kind ${kind} are left`)
  }
  await world.end(next)
  return untouched
}

type Once = (template: Template, fault: CommitFault, n: number, problems: string[]) => Promise<boolean>

async function failEach(template: Template, once: Once, problems: string[]): Promise<number> {
  let runs = 0
  for (const fault of COMMIT_FAULTS) {
    // Two in a row: the work differs between odd and even numbers.
    for (let n = 1, untouched = 0; untouched < 2; n++) {
      const found: string[] = []
      untouched = (await once(template, fault, n, found)) ? untouched + 1 : 0
      problems.push(...found.map(problem => `${once.name}, commit ${n} ${fault}: ${problem}`))
      runs++
    }
  }
  return runs
}

export const pages: Suite = {
  name: 'pages',
  async run() {
    const problems: string[] = []
    const completions = await failEach(await prepareUpload(PARTS_MANY), completeOnce, problems)
    const releases = await failEach(await prepareUpload(PARTS_SOME), releaseOnce, problems)
    const figures = `${completions} completions of ${PARTS_MANY} parts, ${releases} releases of ${PARTS_SOME} parts`
    return judge(problems, figures)
  },
}
