import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualClock } from '../../src/lib/clock.ts'
import { ClockCheckpointer } from '../../src/maintenance/clock-checkpointer.ts'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { shortOrLong } from '../long.ts'
import { settle } from '../store/fixture.ts'
import { auditLedger, RULES } from '../store/lock-audit.ts'
import { LockModel, type ModelLock, type Seen, type Stage, stories } from '../store/lock-model.ts'
import { document, elements, type Headers, lockBucket, md5Header, text } from './actions.ts'
import { type Client, type Received, type Sending, type Served, withServer } from './server.ts'

const RUNS = Math.ceil(shortOrLong(48, 300, 'HOLDFAST_ROUNDS') / 6)
const BYPASS: Headers = [[':bypass-governance-retention', 'true']]

/** The code; the reason identifies a code that the dialect folds into its general one. */
function codeOf(answer: Received): string {
  if (answer.status < 300) return 'ok'
  return text(answer.xml(), 'Reason') ?? answer.code()
}

const iso = (time: number): string => new Date(time).toISOString()

function lockHeaders(lock: ModelLock | undefined): Headers {
  const out: [string, string][] = []
  if (lock?.hold != null) out.push([':object-lock-legal-hold', lock.hold])
  if (lock?.retention != null) {
    out.push([':object-lock-mode', lock.retention.mode.toUpperCase()])
    out.push([':object-lock-retain-until-date', iso(lock.retention.until)])
  }
  return out
}

class HttpStage implements Stage {
  readonly #client: Client
  readonly #served: Served
  readonly #bucket: string
  readonly keepsHeld: boolean

  constructor(client: Client, served: Served, bucket: string) {
    this.#client = client
    this.#served = served
    this.#bucket = bucket
    this.keepsHeld = client.dialect === 'svc'
  }

  #send(method: string, path: string, more: Partial<Sending> = {}): Promise<Received> {
    return this.#client.send({ method, bucket: this.#bucket, path, ...more })
  }

  now = (): number => this.#served.clock.now()
  lived = (): number => new ManualClock().now() + this.#served.clock.elapsed()
  move = (ms: number): void => this.#served.clock.move(ms)
  jump = (ms: number): void => this.#served.clock.jump(ms)
  crash = async (): Promise<void> => {}
  maintenance = (): Promise<void> => settle(this.#served.parts.store)
  mark = (): Promise<void> =>
    new ClockCheckpointer(this.#served.parts.store.context, () => {}).step().then(() => undefined)

  async put(key: string, body: Buffer, lock: ModelLock | undefined): Promise<string> {
    const answer = await this.#send('PUT', `/${key}`, { body, headers: [md5Header(body), ...lockHeaders(lock)] })
    return answer.own('version-id') ?? codeOf(answer)
  }

  async copy(from: Seen, key: string): Promise<string> {
    const source = `/${this.#bucket}/${from.key}?versionId=${from.id}`
    const answer = await this.#send('PUT', `/${key}`, { headers: [[':copy-source', source]] })
    return answer.own('version-id') ?? codeOf(answer)
  }

  async complete(key: string, body: Buffer, lock: ModelLock | undefined): Promise<string> {
    const begun = await this.#send('POST', `/${key}?uploads`, { headers: lockHeaders(lock) })
    if (begun.status !== 200) return codeOf(begun)
    const id = text(begun.xml(), 'UploadId')
    const part = await this.#send('PUT', `/${key}?partNumber=1&uploadId=${id}`, { body })
    const etag = part.headers.get('etag')
    const list = `<Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part>`
    const done = await this.#send('POST', `/${key}?uploadId=${id}`, {
      body: `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`,
    })
    return done.own('version-id') ?? codeOf(done)
  }

  async hide(key: string): Promise<string> {
    const answer = await this.#send('DELETE', `/${key}`)
    return answer.own('version-id') ?? codeOf(answer)
  }

  async remove({ key, id }: Seen, bypass: boolean): Promise<string> {
    return codeOf(await this.#send('DELETE', `/${key}?versionId=${id}`, { headers: bypass ? BYPASS : [] }))
  }

  async removeAll(versions: readonly Seen[], bypass: boolean): Promise<string[]> {
    const objects = versions.map(({ key, id }) => `<Object><Key>${key}</Key><VersionId>${id}</VersionId></Object>`)
    const body = `<Delete><Quiet>true</Quiet>${objects.join('')}</Delete>`
    const answer = await this.#send('POST', '/?delete', document(body, bypass ? BYPASS : []))
    const errors = elements(answer.xml(), 'Error')
    return versions.map(({ id }) => {
      const error = errors.find(one => text(one, 'VersionId') === id)
      return error === undefined ? 'ok' : text(error, 'Code')!
    })
  }

  async hold({ key, id }: Seen, hold: 'ON' | 'OFF'): Promise<string> {
    const native: Headers = this.#client.dialect === 'svc' ? [[':legal-hold', hold]] : []
    const sent = document(`<LegalHold><Status>${hold}</Status></LegalHold>`, native)
    return codeOf(await this.#send('PUT', `/${key}?legal-hold&versionId=${id}`, sent))
  }

  async retain({ key, id }: Seen, retention: ModelLock['retention'], bypass: boolean): Promise<string> {
    const inside =
      retention === null
        ? ''
        : `<Mode>${retention.mode.toUpperCase()}</Mode><RetainUntilDate>${iso(retention.until)}</RetainUntilDate>`
    const sent = document(`<Retention>${inside}</Retention>`, bypass ? BYPASS : [])
    return codeOf(await this.#send('PUT', `/${key}?retention&versionId=${id}`, sent))
  }

  async configure(retention: Parameters<Stage['configure']>[0]): Promise<string> {
    const mode = `<Mode>${retention?.mode.toUpperCase()}</Mode><Days>${retention?.days}</Days>`
    const rule = retention === undefined ? '' : `<Rule><DefaultRetention>${mode}</DefaultRetention></Rule>`
    const enabled = '<ObjectLockEnabled>Enabled</ObjectLockEnabled>'
    const body = `<ObjectLockConfiguration>${enabled}${rule}</ObjectLockConfiguration>`
    return codeOf(await this.#send('PUT', '/?object-lock', document(body)))
  }

  async suspend(): Promise<string> {
    const body = '<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>'
    return codeOf(await this.#send('PUT', '/?versioning', document(body)))
  }

  removeBucket = async (): Promise<string> => codeOf(await this.#send('DELETE', '/'))

  async look({ key, id }: Seen): Promise<{ lock: ModelLock; bytes: Buffer }> {
    const answer = await this.#send('GET', `/${key}?versionId=${id}`)
    assert.equal(answer.status, 200)
    const [mode, until] = [answer.own('object-lock-mode'), answer.own('object-lock-retain-until-date')]
    const retention =
      mode === undefined
        ? null
        : { mode: mode === 'GOVERNANCE' ? ('governance' as const) : ('compliance' as const), until: Date.parse(until!) }
    const hold = (answer.own('object-lock-legal-hold') ?? null) as ModelLock['hold']
    return { lock: { hold, retention }, bytes: answer.body }
  }

  async versions(): Promise<Seen[]> {
    const root = (await this.#send('GET', '/?versions')).xml()
    const seen = (element: string, marker: boolean): Seen[] =>
      elements(root, element).map(one => ({ key: text(one, 'Key')!, id: text(one, 'VersionId')!, marker }))
    return [...seen('Version', false), ...seen('DeleteMarker', true)]
  }

  async expire(): Promise<void> {
    const lifecycle = new Lifecycle(this.#served.parts.store.context)
    await runUntilIdle(lifecycle)
    assert.equal(lifecycle.failures, 0)
  }

  audit = (locks: ReadonlyMap<string, ModelLock>): Promise<void> =>
    auditLedger(this.#served.parts.store, this.#bucket, locks)
}

for (const dialect of ['svc', 's3'] as const) {
  const title = `P1–P6 P9–P16 P19 P22 P26 P27 P30 P31 D10 R38 R39 R41: ${RUNS} stories of locks over HTTP`
  test(`${dialect}: ${title}`, () =>
    withServer(async served => {
      let bucket = 0
      await fc.assert(
        fc.asyncProperty(stories, async story => {
          const client = served[dialect]
          const name = await lockBucket(client, `bucket-${++bucket}`)
          const rules = await client.send({ method: 'PUT', bucket: name, path: '/?lifecycle', ...document(RULES) })
          assert.equal(rules.status, 200, rules.body.toString())
          await new LockModel(new HttpStage(client, served, name)).play(story)
        }),
        { numRuns: RUNS, includeErrorInReport: true },
      )
    }))
}
