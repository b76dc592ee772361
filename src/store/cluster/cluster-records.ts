/**
 * The records of a cluster: who its members are, when each was last heard from, which one leads, and which barriers
 * members are asked to pass. Members write only their own renewal; every other change is a compare-and-set.
 */
import { bytes, fixed, flag, format, list, pair, struct, text, uint } from '../../lib/codec.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import { key } from '../../lib/keys.ts'
import type { Entry, Meta } from '../../meta/meta.ts'
import { keyRanges } from '../commit/record-keys.ts'

/** One gateway: a server with all its worker processes. The record is its fence: without it no commit takes effect. */
export interface Member {
  /** Incarnation of the store when it joined. */
  readonly incarnation: number
  /** Where other machines reach it, for operators. */
  readonly address: string
  readonly version: string
  /** By its own clock, for operators. */
  readonly joinedAt: number
  /** It tolerates no other member: a server that was started without a cluster. */
  readonly isExclusive: boolean
  /** The socket that shows on its own machine whether it lives; empty without one. */
  readonly socket: string
}

/** `readers` and `drafts` drain, `keys` reloads the keyring, `holds` stops reclamation for a backup. */
const BARRIER_KINDS = ['readers', 'drafts', 'keys', 'holds'] as const
export type BarrierKind = (typeof BARRIER_KINDS)[number]
/** The highest barrier of each kind that was asked for, or that a member has passed. */
export type BarrierNumbers = Readonly<Record<BarrierKind, number>>

export const NO_BARRIERS: BarrierNumbers = { readers: 0, drafts: 0, keys: 0, holds: 0 }

/** Rewritten at every renewal. Other members watch its stamp; clocks are not compared. */
interface Renewal {
  readonly count: number
  readonly passed: BarrierNumbers
}

interface Leader {
  readonly member: Buffer
  /** Grows with every change of the leader. */
  readonly term: number
}

/** The last token that a member has written to the shared folder, and those of others that it has seen there. */
export interface MountProbe {
  readonly count: number
  readonly token: Buffer
  /** Ids of members, with the greatest of their counts whose token was found. */
  readonly seen: readonly (readonly [id: Buffer, count: number])[]
}

export const PROBE_TOKEN_BYTES = 16

const barrierNumbers = struct<BarrierNumbers>({ readers: uint, drafts: uint, keys: uint, holds: uint })

export const memberFormat = format<Member>(
  'YM',
  struct<Member>({
    incarnation: uint,
    address: text,
    version: text,
    joinedAt: uint,
    isExclusive: flag,
    socket: text,
  }),
)
export const renewalFormat = format<Renewal>('YR', struct<Renewal>({ count: uint, passed: barrierNumbers }))
export const leaderFormat = format<Leader>('YL', struct<Leader>({ member: fixed(WRITER_BYTES), term: uint }))
export const barrierFormat = format<BarrierNumbers>('YB', barrierNumbers)
/** The member that holds reclamation, for as long as it is a member. */
export const holdFormat = format<Buffer>('YH', bytes)

export const probeFormat = format<MountProbe>(
  'YP',
  struct<MountProbe>({ count: uint, token: fixed(PROBE_TOKEN_BYTES), seen: list(pair(fixed(WRITER_BYTES), uint)) }),
)

export const clusterKey = {
  member: (id: Buffer) => key('x', 'cluster', 'member', id),
  renewal: (id: Buffer) => key('x', 'cluster', 'renewal', id),
  leader: () => key('x', 'cluster', 'leader'),
  barrier: () => key('x', 'cluster', 'barrier'),
  hold: (id: Buffer) => key('x', 'cluster', 'hold', id),
  probe: (id: Buffer) => key('x', 'cluster', 'probe', id),
}

/** A member as one scan saw it. */
export interface SeenMember extends Member {
  readonly id: Buffer
  readonly entry: Entry
  readonly renewal: Renewal
  readonly renewalEntry: Entry
}

/** All records of the cluster as of one scan. */
export interface ClusterView {
  /** By id in hexadecimal. */
  readonly members: ReadonlyMap<string, SeenMember>
  readonly leader: (Leader & { readonly entry: Entry }) | undefined
  readonly barriers: BarrierNumbers
  readonly barrierEntry: Entry | undefined
  /** Reclamation is held by a member. */
  readonly isHeld: boolean
  /** Holds of members that are gone. */
  readonly strayHolds: readonly Entry[]
  /** Probes of the shared folder, by the id of their member in hexadecimal; a member may be gone. */
  readonly probes: ReadonlyMap<string, MountProbe>
}

const PAGE = 10_000

const prefixes = {
  member: clusterKey.member(Buffer.alloc(0)),
  renewal: clusterKey.renewal(Buffer.alloc(0)),
  hold: clusterKey.hold(Buffer.alloc(0)),
  probe: clusterKey.probe(Buffer.alloc(0)),
}

const isUnder = (entry: Entry, prefix: Buffer): boolean => entry.key.subarray(0, prefix.length).equals(prefix)
const idIn = (entry: Entry): Buffer => entry.key.subarray(-WRITER_BYTES)

/** One round trip. The scan is a single statement or snapshot in every engine, so the records fit each other. */
export async function readCluster(meta: Meta): Promise<ClusterView> {
  const entries = await meta.scan(keyRanges.cluster(), PAGE)
  const renewals = new Map<string, Entry>()
  for (const entry of entries) if (isUnder(entry, prefixes.renewal)) renewals.set(idIn(entry).toString('hex'), entry)
  const members = new Map<string, SeenMember>()
  for (const entry of entries) {
    if (!isUnder(entry, prefixes.member)) continue
    const id = idIn(entry)
    const renewalEntry = renewals.get(id.toString('hex'))
    if (renewalEntry === undefined) throw new Error(`member ${id.toString('hex')} of the cluster has no renewal record`)
    const renewal = renewalFormat.decode(renewalEntry.value)
    members.set(id.toString('hex'), { id, entry, renewal, renewalEntry, ...memberFormat.decode(entry.value) })
  }
  const find = (wanted: Buffer): Entry | undefined => entries.find(entry => entry.key.equals(wanted))
  const leaderEntry = find(clusterKey.leader())
  const barrierEntry = find(clusterKey.barrier())
  const holds = entries.filter(entry => isUnder(entry, prefixes.hold))
  const isStray = ({ value }: Entry): boolean => !members.has(holdFormat.decode(value).toString('hex'))
  return {
    members,
    leader: leaderEntry && { ...leaderFormat.decode(leaderEntry.value), entry: leaderEntry },
    barriers: barrierEntry === undefined ? NO_BARRIERS : barrierFormat.decode(barrierEntry.value),
    barrierEntry,
    isHeld: holds.some(entry => !isStray(entry)),
    strayHolds: holds.filter(isStray),
    probes: new Map(
      entries
        .filter(entry => isUnder(entry, prefixes.probe))
        .map(entry => [idIn(entry).toString('hex'), probeFormat.decode(entry.value)]),
    ),
  }
}
