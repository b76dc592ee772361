/** The result of an import: counts, and every difference between source and target. */
import { escapeControls } from '../output.ts'

/** Attributes that a version may lose although its bytes are copied. */
const LOSSES = {
  hold: { text: 'legal holds: the target bucket has no object lock', isGrave: true },
  retention: { text: 'retention: the target bucket has no object lock', isGrave: true },
  tags: { text: 'tags that the target refuses', isGrave: true },
  metadata: { text: 'metadata that the source could not return in headers', isGrave: true },
  expired: { text: 'retention that had already expired', isGrave: false },
  grantee: { text: 'grants to accounts unknown to the target', isGrave: false },
  acl: { text: 'ACLs: the target bucket does not accept them', isGrave: false },
  untoldAcl: { text: 'ACLs that the source does not return: private instead', isGrave: false },
  storageClass: { text: 'storage classes that the target does not support', isGrave: false },
  key: { text: "keys of the source's key service: encrypted with the target's own key instead", isGrave: false },
} as const

export type Loss = keyof typeof LOSSES

/** No other server can keep these, so they are reported once and not counted. */
const NEVER_KEPT = 'version ids, times of last modification and owners are those of the target'

interface ImportFailure {
  readonly key: string
  readonly versionId?: string | undefined
  readonly why: string
}

const EXAMPLES_MAX = 5
const TROUBLES_MAX = 1000

class Troubles {
  count = 0
  readonly examples: ImportFailure[] = []

  add(trouble: ImportFailure): void {
    this.count++
    if (this.examples.length < TROUBLES_MAX) this.examples.push(trouble)
  }
}

export class Report {
  copied = 0
  markers = 0
  bytes = 0
  present = 0
  /** Versions whose ETag or checksum is the same at both sides. */
  proven = 0
  /** Versions without a usable digest at the source: hashed on receipt, and again by the target. */
  asReceived = 0
  compared = 0
  readonly missing = new Troubles()
  readonly failed = new Troubles()
  readonly leftOut = new Troubles()
  readonly settings: { name: string; done: boolean; why?: string }[] = []
  readonly #losses = new Map<Loss, Troubles>()

  lose(loss: Loss, key: string, versionId: string | undefined, why = ''): void {
    const known = this.#losses.get(loss) ?? new Troubles()
    this.#losses.set(loss, known)
    known.add({ key, versionId, why })
  }

  get isWhole(): boolean {
    const grave = [...this.#losses.keys()].some(loss => LOSSES[loss].isGrave)
    const settings = this.settings.every(({ done }) => done)
    return !grave && settings && this.missing.count + this.failed.count + this.leftOut.count === 0
  }

  value(): Record<string, unknown> {
    const summary = ({ count, examples }: Troubles) => ({ count, examples })
    return {
      whole: this.isWhole,
      copied: { versions: this.copied, markers: this.markers, bytes: this.bytes },
      present: this.present,
      verified: { bySource: this.proven, asReceived: this.asReceived, compared: this.compared },
      missing: summary(this.missing),
      failed: summary(this.failed),
      leftOut: summary(this.leftOut),
      notCarriedOver: [...this.#losses].map(([what, troubles]) => ({ what, ...summary(troubles) })),
      settings: this.settings,
      neverKept: NEVER_KEPT,
    }
  }

  text(): string {
    const verified = `${this.proven} verified by what the source says of them, ${this.asReceived} as received`
    return [
      `copied ${this.copied} versions (${this.bytes} bytes) and ${this.markers} delete markers; ${verified}`,
      `${this.present} were there already; ${this.compared} compared at the end`,
      ...this.settings.map(({ name, done, why }) => (done ? `set ${name}` : `could not set ${name}: ${why}`)),
      ...[...this.#losses].flatMap(([loss, troubles]) => listed(`not carried over: ${LOSSES[loss].text}`, troubles)),
      ...listed('left out, as asked', this.leftOut),
      ...listed('failed, and the newer versions of these keys wait', this.failed),
      ...listed('missing or different at the end', this.missing),
      NEVER_KEPT,
      this.isWhole ? 'nothing is missing' : 'NOT complete: run it again once the cause is fixed',
    ]
      .map(escapeControls)
      .join('\n')
  }
}

function listed(title: string, { count, examples }: Troubles): string[] {
  if (count === 0) return []
  const shown = examples.slice(0, EXAMPLES_MAX).map(({ key, versionId, why }) => {
    const version = versionId === undefined ? '' : `@${versionId}`
    return `  ${key}${version}${why === '' ? '' : `: ${why}`}`
  })
  const more = count > shown.length ? [`  … and ${count - shown.length} more (--json lists them)`] : []
  return [`${title}: ${count}`, ...shown, ...more]
}
