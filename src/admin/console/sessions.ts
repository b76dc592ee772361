/**
 * Sessions of the console, in memory only. A session is an id, which the browser keeps as a cookie, and a token, which
 * the page keeps: other servers on the same host receive the cookie, but cannot read the token. Both are stored as
 * hashes; the secret key is not stored at all.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Credential } from '../../model/caller.ts'

const IDLE_MS = 30 * 60_000
const LIFETIME_MS = 12 * 3_600_000
/** How often overdue sessions are looked for. */
const SWEEP_MS = 60_000
const SECRET_BYTES = 32
/** The oldest are ended first. */
const SESSIONS_MAX = 10_000

/** A person as an issuer of OpenID Connect names them: several people may act as the same user. */
export interface SignedInPerson {
  readonly issuer: string
  /** The claim `sub`. */
  readonly subject: string
}

export interface ConsoleSession {
  readonly accessKey: string
  /** Undefined for a session that began with a secret key. */
  readonly person: SignedInPerson | undefined
  readonly startedAt: number
  readonly idleEndsAt: number
  readonly endsAt: number
}

interface StoredSession {
  readonly accessKey: string
  readonly person: SignedInPerson | undefined
  readonly tokenHash: Buffer
  /** Detects that the secret of the key was replaced. */
  readonly secretMark: Buffer
  readonly startedAt: number
  usedAt: number
}

interface NewSession {
  readonly id: string
  readonly token: string
  readonly session: ConsoleSession
}

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

export class Sessions {
  readonly #clock: Clock
  readonly #random: Random
  readonly #markKey: Buffer
  readonly #sessions = new Map<string, StoredSession>()
  #sweptAt = 0

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
    this.#markKey = random.bytes(SECRET_BYTES)
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Begins a session with a new id. */
  begin(credential: Credential, person?: SignedInPerson): NewSession {
    this.#endOverdue()
    if (this.#sessions.size >= SESSIONS_MAX) this.#sessions.delete(this.#sessions.keys().next().value!)
    const id = this.#random.bytes(SECRET_BYTES).toString('base64url')
    const token = this.#random.bytes(SECRET_BYTES).toString('base64url')
    const now = this.#clock.now()
    const stored: StoredSession = {
      accessKey: credential.accessKey,
      person,
      tokenHash: hashOf(token),
      secretMark: this.#markOf(credential),
      startedAt: now,
      usedAt: now,
    }
    this.#sessions.set(nameOf(id), stored)
    return { id, token, session: shown(stored) }
  }

  /** The session with this id and token; undefined when there is none or it has ended. */
  find(id: string, token: string): ConsoleSession | undefined {
    const name = nameOf(id)
    const stored = this.#sessions.get(name)
    if (stored === undefined || !timingSafeEqual(stored.tokenHash, hashOf(token))) return undefined
    if (!this.#isOverdue(stored)) return shown(stored)
    this.#sessions.delete(name)
    return undefined
  }

  /** Postpones the idle end. */
  use(id: string): void {
    const stored = this.#sessions.get(nameOf(id))
    if (stored !== undefined) stored.usedAt = this.#clock.now()
  }

  /** Whether the session began with the credential as it is now. */
  isOf(id: string, credential: Credential): boolean {
    const stored = this.#sessions.get(nameOf(id))
    return stored !== undefined && timingSafeEqual(stored.secretMark, this.#markOf(credential))
  }

  end(id: string): void {
    this.#sessions.delete(nameOf(id))
  }

  #markOf({ accessKey, secretKey }: Credential): Buffer {
    return createHmac('sha256', this.#markKey).update(`${accessKey}\n${secretKey}`).digest()
  }

  #isOverdue(stored: StoredSession): boolean {
    const now = this.#clock.now()
    const { idleEndsAt, endsAt } = shown(stored)
    return now >= idleEndsAt || now >= endsAt
  }

  #endOverdue(): void {
    const now = this.#clock.now()
    if (now < this.#sweptAt + SWEEP_MS) return
    this.#sweptAt = now
    for (const [name, stored] of this.#sessions) if (this.#isOverdue(stored)) this.#sessions.delete(name)
  }
}

const nameOf = (id: string): string => hashOf(id).toString('base64url')

const shown = ({ accessKey, person, startedAt, usedAt }: StoredSession): ConsoleSession => ({
  accessKey,
  person,
  startedAt,
  idleEndsAt: usedAt + IDLE_MS,
  endsAt: startedAt + LIFETIME_MS,
})
