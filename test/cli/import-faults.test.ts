/** `holdfast import` where its source or target fails now and then, or behaves like other servers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differences } from '../import/expect.ts'
import { between, type Question, type Servers, type Spoiling, seededAt, withServers } from '../import/fixture.ts'
import { clientOf, imported, type Told } from '../import/round.ts'
import { keyOf, type Seeded } from '../import/seed.ts'

/** One of each kind, and every order of versions and markers. */
const OBJECTS = 12
const BUSY = { status: 503, body: '<Error><Code>SlowDown</Code><Message>busy</Message></Error>' } as const
const NO_KEY = { status: 404, body: '<Error><Code>NoSuchKey</Code><Message>none</Message></Error>' } as const
const UNKNOWN = { status: 501, body: '<Error><Code>NotImplemented</Code><Message>no</Message></Error>' } as const

/** Everything matches the source, each version once, and the report has the right counts. */
async function assertWhole({ targetUrl }: Servers, seeded: Seeded, told: Told): Promise<void> {
  const target = clientOf(targetUrl, 'moved')
  assert.deepEqual(await differences(target, seeded), [])
  target.close()
  const all = [...seeded.values()].reduce((sum, versions) => sum + versions.length, 0)
  assert.equal(told.verified.compared, all)
}

type Fault = (question: Question) => Spoiling | undefined

for (const [what, spoil] of [
  ['says once for everything that it is busy', ({ times }) => (times === 1 ? BUSY : undefined)],
  ['hangs up once on everything', ({ times }) => (times === 1 ? 'cut' : undefined)],
  [
    'breaks off its answers, and says of others that they failed',
    ({ times }) => (times === 1 ? { cutAfter: 100 } : times === 2 ? { status: 500 } : undefined),
  ],
] as readonly (readonly [string, Fault])[]) {
  test(`requests to a source that ${what} are retried, and everything arrives`, () =>
    withServers(async servers => {
      const seeded = await seededAt(servers.sourceUrl, OBJECTS)
      let spoilt = 0
      const counted: Fault = question => {
        const spoiling = spoil(question)
        if (spoiling !== undefined) spoilt++
        return spoiling
      }
      await between(servers.sourceUrl, counted, async sourceUrl => {
        const { code, told, errors } = await imported({ ...servers, sourceUrl })
        assert.equal(code, 0, `${errors}${JSON.stringify(told)}`)
        await assertWhole(servers, seeded, told)
        assert(spoilt > OBJECTS, `${spoilt} answers were spoilt`)
      })
    }))
}

test('a target whose responses are lost gets every version once: outcomes are checked before a retry', () =>
  withServers(async servers => {
    const seeded = await seededAt(servers.sourceUrl, OBJECTS)
    let lost = 0
    const lose: Fault = ({ method, path, times }) => {
      const isWrite = (method === 'PUT' || method === 'DELETE' || method === 'POST') && path.split('/').length > 2
      if (!isWrite || times > 1) return undefined
      lost++
      return 'lose'
    }
    await between(servers.targetUrl, lose, async targetUrl => {
      const { code, told, errors } = await imported({ ...servers, targetUrl })
      assert.equal(code, 0, `${errors}${JSON.stringify(told)}`)
      await assertWhole(servers, seeded, told)
      assert(lost >= OBJECTS, `${lost} answers were lost`)
    })
  }))

test('bytes that do not match the source’s checksum are not imported; others are', () =>
  withServers(async servers => {
    await seededAt(servers.sourceUrl, 10)
    const bad = keyOf(6)
    const spoil: Fault = ({ method, path, query }) => {
      const isBody = method === 'GET' && path.endsWith(`/${bad}`) && !query.has('tagging') && !query.has('acl')
      return isBody ? { rewrite: body => body.replace('version', 'vermin!') } : undefined
    }
    await between(servers.sourceUrl, spoil, async sourceUrl => {
      const { code, told } = await imported({ ...servers, sourceUrl }, '--skip-unreadable')
      assert.equal(code, 1)
      assert.deepEqual(
        told.leftOut.examples.map(({ key }) => key),
        [bad],
      )
      assert.deepEqual([told.failed.count, told.missing.count], [0, 0])
    })
    const target = clientOf(servers.targetUrl, 'moved')
    await assert.rejects(target.requestOnce({ method: 'HEAD', key: bad }), { status: 404 })
    await target.requestOnce({ method: 'HEAD', key: keyOf(7) })
    target.close()
  }))

/** Moves the delete markers of a page before its versions. */
function markersFirst(listing: string): string {
  const markers = listing.match(/<DeleteMarker>.*?<\/DeleteMarker>/gs) ?? []
  const rest = listing.replaceAll(/<DeleteMarker>.*?<\/DeleteMarker>/gs, '')
  return rest.replace('<Version>', () => `${markers.join('')}<Version>`)
}

test('a source with limited listings and different lock errors is imported completely', () =>
  withServers(async servers => {
    const seeded = await seededAt(servers.sourceUrl, OBJECTS)
    const below = new Set([...seeded].filter(([, versions]) => versions.at(-1)?.md5 === undefined).map(([key]) => key))
    let unknown = 0
    const speak: Fault = ({ method, path, query }) => {
      const key = path.split('/').slice(2).join('/')
      if (query.has('versions')) return { rewrite: markersFirst }
      if (query.has('ownershipControls')) {
        unknown++
        return UNKNOWN
      }
      if (query.has('acl')) return below.has(key) ? NO_KEY : undefined
      if (method === 'GET' && query.has('retention')) {
        return { rewrite: body => body.replaceAll(/(<\/?)Retention/g, '$1ObjectLockRetention') }
      }
      return { rewrite: body => body, without: /object-lock/ }
    }
    await between(servers.sourceUrl, speak, async sourceUrl => {
      const { code, told, errors } = await imported({ ...servers, sourceUrl })
      assert.equal(code, 0, `${errors}${JSON.stringify(told)}`)
      await assertWhole(servers, seeded, told)
      const untold = told.notCarriedOver.find(({ what }) => what === 'untoldAcl')
      assert.deepEqual([untold?.count, unknown], [below.size, 1], 'and what it does not know is asked for once')
    })
  }))

test('a version whose attributes the source does not reveal is a failure, never skipped silently', () =>
  withServers(async servers => {
    await seededAt(servers.sourceUrl, 10)
    const silent = keyOf(6)
    const spoil: Fault = ({ path, query }) => (query.has('tagging') && path.endsWith(`/${silent}`) ? NO_KEY : undefined)
    await between(servers.sourceUrl, spoil, async sourceUrl => {
      const { code, told } = await imported({ ...servers, sourceUrl })
      assert.deepEqual([code, told.failed.examples.map(({ key }) => key)], [1, [silent]])
      assert.match(told.failed.examples[0]!.why, /the source has the version/)
    })
  }))
