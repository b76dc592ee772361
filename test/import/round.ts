/** An import that is killed repeatedly, and must end with nothing missing and nothing twice. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { childText } from '../../src/lib/xml.ts'
import { parseXml } from '../../src/lib/xml-reader.ts'
import { S3Client } from '../../src/s3/client.ts'
import { holdfast, launch, ROOT } from '../cli/program.ts'
import { differences } from './expect.ts'
import type { Seeded } from './seed.ts'

export const SOURCE_KEY = { accessKey: 'HFSOURCEKEY', secretKey: 'the-secret-of-the-source' }
export const BUCKET = 'moving'

export const clientOf = (url: string, bucket: string, key = ROOT): S3Client =>
  new S3Client({ endpoint: new URL(url), bucket, region: 'us-east-1', key, inFlight: 16 })

export interface Round {
  readonly sourceUrl: string
  readonly targetUrl: string
  readonly folder: string
  readonly seeded: Seeded
  /** The import is killed when the target has this share of the keys. */
  readonly kills: readonly number[]
}

const ENV = {
  HOLDFAST_ACCESS_KEY: ROOT.accessKey,
  HOLDFAST_SECRET_KEY: ROOT.secretKey,
  HOLDFAST_SOURCE_ACCESS_KEY: SOURCE_KEY.accessKey,
  HOLDFAST_SOURCE_SECRET_KEY: SOURCE_KEY.secretKey,
}

const POLL_MS = 5

export const argumentsOf = ({ sourceUrl, targetUrl, folder }: Pick<Round, 'sourceUrl' | 'targetUrl' | 'folder'>) => [
  'import',
  `s3://${BUCKET}`,
  '--from',
  sourceUrl,
  '--into',
  targetUrl,
  '--to',
  'moved',
  '--state',
  join(folder, 'import.state'),
]

/** Whether the target has anything after this key. */
async function hasBehind(target: S3Client, key: string): Promise<boolean> {
  const query = { versions: '', 'key-marker': key, 'max-keys': 1 }
  const answer = await target.requestIfPresent({ method: 'GET', query }, 'NoSuchBucket')
  if (answer === undefined) return false
  return parseXml(answer.body).children.some(({ name }) => name === 'Version' || name === 'DeleteMarker')
}

/** Starts an import and kills it -9 midway. */
async function killed(round: Round, target: S3Client, share: number): Promise<void> {
  const keys = [...round.seeded.keys()].sort()
  const key = keys[Math.floor(keys.length * share)]!
  const child = launch([...argumentsOf(round), '--json'], ENV)
  const ended = once(child, 'exit')
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  while (!isOver && !(await hasBehind(target, key))) await wait(POLL_MS)
  child.kill('SIGKILL')
  const [code, signal] = await ended
  assert.deepEqual([code, signal], [null, 'SIGKILL'], 'it was still at work')
}

export interface Told {
  readonly whole: boolean
  readonly copied: { readonly versions: number; readonly markers: number; readonly bytes: number }
  readonly present: number
  readonly verified: { readonly bySource: number; readonly asReceived: number; readonly compared: number }
  readonly missing: { readonly count: number; readonly examples: readonly { key: string; why: string }[] }
  readonly failed: { readonly count: number; readonly examples: readonly { key: string; why: string }[] }
  readonly leftOut: { readonly count: number; readonly examples: readonly { key: string; why: string }[] }
  readonly notCarriedOver: readonly { readonly what: string; readonly count: number }[]
}

/** One whole run; returns its report. */
export async function imported(
  round: Pick<Round, 'sourceUrl' | 'targetUrl' | 'folder'>,
  ...more: readonly string[]
): Promise<{ code: number | null; told: Told; errors: string }> {
  const { code, out, errors } = await holdfast([...argumentsOf(round), '--json', ...more], { env: ENV })
  return { code, told: JSON.parse(out || '{}'), errors }
}

/** Returns the report of the last run. */
export async function play(round: Round): Promise<Told> {
  const target = clientOf(round.targetUrl, 'moved')
  try {
    for (const share of round.kills) await killed(round, target, share)
    const { code, told, errors } = await imported(round)
    assert.equal(code, 0, `${errors}${JSON.stringify(told, undefined, 1)}`)
    const all = [...round.seeded.values()].reduce((sum, versions) => sum + versions.length, 0)
    assert.equal(told.present + told.copied.versions + told.copied.markers, all, 'every version once')
    if (round.kills.length > 0) assert(told.present > 0, 'the last run went on where the others were killed')
    assert.equal(told.verified.compared, all)
    assert.deepEqual(await differences(target, round.seeded), [])
    const again = await imported(round)
    assert.deepEqual(
      [again.code, again.told.copied, again.told.present],
      [0, { versions: 0, markers: 0, bytes: 0 }, all],
    )
    const uploads = parseXml((await target.request({ method: 'GET', query: { uploads: '' } })).body)
    assert.equal(childText(uploads, 'IsTruncated'), 'false')
    assert.equal(uploads.children.filter(({ name }) => name === 'Upload').length, 0, 'no upload is left open')
    return told
  } finally {
    target.close()
  }
}
