/** The fast path of plain reads answers as the pipeline does: the same bytes, log lines and metrics. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { REPORTS_WRITTEN_BYTES } from '../../src/lib/runtime.ts'
import { bothAnswer, counted, headOf, LOCAL, PLAIN, type Request, withComparison } from './compared-listeners.ts'
import { type Client, type DialectName, MAIN, OTHER, READER, type Who } from './server.ts'

const TARGETS = [
  ...['small', 'empty', 'packed', 'long', 'dir/with~odd_.-name', 'public', 'sealed', 'summed'].map(key => [
    'plain',
    key,
  ]),
  ['plain', 'a%20b'],
  ['plain', 'missing'],
  ['plain', '/small'],
  ['plain', 'sm%61ll'],
  ['plain', ''],
  ['versioned', 'small'],
  ['versioned', 'deleted'],
  ...['held', 'retained', 'small'].map(key => ['locked', key]),
  ...['denied', 'small'].map(key => ['ruled', key]),
  ['expiring', 'small'],
  ['charged', 'small'],
  ['foreign', 'small'],
  ['foreign', 'public'],
  ['shared', 'small'],
  ['absent', 'small'],
  ['Not_A_Bucket', 'small'],
] as [string, string][]

const STRANGER: Who = { accessKey: 'AKNOBODY', secretKey: 'none', accountId: '', canonicalId: '' }
const FORGER: Who = { ...MAIN, secretKey: 'guessed' }

const HEADERS: [string, string][] = [
  ['accept', '*/*'],
  ['accept', 'text/html'],
  ['user-agent', 'a client'],
  ['cache-control', 'no-cache'],
  ['range', 'bytes=1-2'],
  ['if-none-match', '*'],
  ['if-modified-since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['origin', 'https://page.example'],
  ['expect', '100-continue'],
  ['content-length', '0'],
  [':checksum-mode', 'ENABLED'],
  [':expected-bucket-owner', '000000000000'],
  [':request-payer', 'requester'],
  [':server-side-encryption-customer-algorithm', 'AES256'],
  ['x-amz-meta-other', 'dialect'],
  ['x-svc-meta-other', 'dialect'],
  ['host', 'second.example'],
]

const PARAMETERS: [string, string][] = [
  ['x-id', 'GetObject'],
  ['versionId', 'null'],
  ['partNumber', '1'],
  ['response-content-type', 'text/css'],
  ['acl', ''],
  ['other', 'unknown'],
]

const requests = fc.record({
  target: fc.constantFrom(...TARGETS),
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'POST'),
  dialect: fc.constantFrom<DialectName>('svc', 's3'),
  inHost: fc.boolean(),
  who: fc.constantFrom<Who | null>(MAIN, MAIN, READER, OTHER, STRANGER, FORGER, null),
  presigned: fc.boolean(),
  region: fc.constantFrom('us-east-1', 'us-east-1', 'eu-west-1'),
  ageSeconds: fc.constantFrom(0, 0, 0, 50, 2_000),
  headers: fc.oneof(fc.constant<[string, string][]>([]), fc.uniqueArray(fc.constantFrom(...HEADERS), { maxLength: 2 })),
  parameters: fc.oneof(
    fc.constant<[string, string][]>([]),
    fc.uniqueArray(fc.constantFrom(...PARAMETERS), { maxLength: 1 }),
  ),
})
test('random reads get the same response, log line and counters with and without the fast path', LOCAL, () =>
  withComparison(async (compared, served) => {
    let immediate = 0
    await fc.assert(
      fc.asyncProperty(requests, async request => {
        // Three times: a head that was sent twice is remembered.
        const head = headOf(request, served)
        for (let use = 0; use < 3; use++) await bothAnswer(compared, head)
        immediate += compared.answered
      }),
      { numRuns: 400 },
    )
    assert.deepEqual(counted(compared.metrics[0]), counted(compared.metrics[1]))
    assert.ok(immediate >= 10, `${immediate} of 400 requests were answered at once`)
  }),
)

const CASES: [title: string, change: Partial<Request>, isImmediate: boolean][] = [
  ['a signed GET', {}, true],
  ['a HEAD', { method: 'HEAD' }, true],
  ['the svc dialect', { dialect: 'svc' }, true],
  ['a bucket in the host', { inHost: true }, true],
  ['a presigned URL', { presigned: true }, true],
  ['a presigned URL of svc', { presigned: true, dialect: 'svc' }, true],
  ['a user with a policy', { who: READER }, true],
  [
    'harmless headers',
    {
      headers: [
        ['user-agent', 'a'],
        ['accept', '*/*'],
      ],
    },
    true,
  ],
  ['a checksum', { target: ['plain', 'summed'], headers: [[':checksum-mode', 'ENABLED']] }, true],
  [
    'a HEAD with a checksum',
    { method: 'HEAD', target: ['plain', 'summed'], headers: [[':checksum-mode', 'ENABLED']] },
    true,
  ],
  ['a checksum that is not there', { headers: [[':checksum-mode', 'ENABLED']] }, true],
  ['an id of an SDK', { parameters: [['x-id', 'GetObject']] }, true],
  ['headers of a proxy', { headers: [['x-forwarded-for', '10.0.0.1']] }, true],
  ['an object in a volume', { target: ['plain', 'packed'] }, true],
  ['a long object', { target: ['plain', 'long'] }, true],
  ['an empty object', { target: ['plain', 'empty'] }, true],
  ['metadata, tags and a storage class', { target: ['plain', 'dir/with~odd_.-name'] }, true],
  ['the current of several versions', { target: ['versioned', 'small'] }, true],
  ['a grant of another account', { target: ['foreign', 'public'] }, true],
  ['an object of another account', { target: ['foreign', 'small'] }, false],
  ['a guessed secret', { who: FORGER }, false],
  ['a presigned URL by a guessed secret', { who: FORGER, presigned: true }, false],
  ['an expired URL', { presigned: true, ageSeconds: 2_000 }, false],
  ['an anonymous caller', { who: null, target: ['plain', 'public'] }, false],
  ['a bucket policy', { target: ['ruled', 'denied'] }, false],
  ['a legal hold', { target: ['locked', 'held'] }, false],
  ['lifecycle rules', { target: ['expiring', 'small'] }, false],
  ['requester pays', { target: ['charged', 'small'] }, false],
  ['an encrypted object', { target: ['plain', 'sealed'] }, false],
  ['a deleted object', { target: ['versioned', 'deleted'] }, false],
  ['another spelling of the checksum mode', { headers: [[':checksum-mode', 'enabled']] }, false],
  ['a range', { headers: [['range', 'bytes=0-0']] }, false],
  ['a version id', { parameters: [['versionId', 'null']] }, false],
  ['two hosts', { headers: [['host', 'second.example']] }, false],
  ['headers of both dialects', { headers: [['x-svc-user-agent', 'a']] }, false],
  [
    'headers of both dialects after one of its own',
    {
      headers: [
        ['x-amz-user-agent', 'a'],
        ['x-svc-user-agent', 'a'],
      ],
    },
    false,
  ],
  ['an escaped key', { target: ['plain', 'a%20b'] }, false],
  ['an escaped key beside a bucket in the host', { target: ['plain', 'a%20b'], inHost: true }, false],
  ["its writer's object in a bucket of another account", { target: ['shared', 'small'], who: OTHER }, true],
  ["another writer's object in the caller's bucket", { target: ['shared', 'small'] }, false],
]

for (const [title, change, isImmediate] of CASES) {
  test(`${isImmediate ? 'answered at once' : 'left to the pipeline'}: ${title}`, LOCAL, () =>
    withComparison(async (compared, served) => {
      await bothAnswer(compared, headOf({ ...PLAIN, ...change }, served))
      assert.equal(compared.answered, isImmediate ? 1 : 0)
    }),
  )
}

test('a signature in a header is read from the bytes of the head', { skip: LOCAL.skip || !REPORTS_WRITTEN_BYTES }, () =>
  withComparison(async (compared, served) => {
    const unparsed: Partial<Request>[] = [
      {},
      { method: 'HEAD' },
      { dialect: 'svc' },
      { inHost: true },
      { who: READER },
      { headers: [['user-agent', 'a']] },
      { headers: [[':checksum-mode', 'ENABLED']] },
      { parameters: [['x-id', 'GetObject']] },
    ]
    for (const change of unparsed) {
      await bothAnswer(compared, headOf({ ...PLAIN, ...change }, served))
      assert.equal(compared.answeredUnparsed, 1, JSON.stringify(change))
    }
    for (const change of [{ presigned: true }, { who: FORGER }, { headers: [['accept', 'caf\xe9']] }] as const) {
      await bothAnswer(compared, headOf({ ...PLAIN, ...change }, served))
      assert.equal(compared.answeredUnparsed, 0, JSON.stringify(change))
    }
  }),
)

test('response headers that are kept are those of requests that ask alike', LOCAL, () =>
  withComparison(
    async (compared, served) => {
      // Each differs from the one before in one respect.
      const asked: Partial<Request>[] = [
        { target: ['plain', 'summed'] },
        { target: ['plain', 'summed'], dialect: 'svc' },
        { target: ['plain', 'summed'], method: 'HEAD' },
        { target: ['plain', 'summed'], headers: [[':checksum-mode', 'ENABLED']] },
        { target: ['plain', 'summed'], who: READER },
        { target: ['plain', 'summed'], region: 'eu-west-1' },
      ]
      const each = async (): Promise<void> => {
        for (const change of asked) {
          await bothAnswer(compared, headOf({ ...PLAIN, ...change }, served))
          assert.equal(compared.answered, 1)
        }
      }
      for (let round = 0; round < 3; round++) await each()
      const put = (change: Omit<Parameters<Client['send']>[0], 'method' | 'bucket'>): Promise<unknown> =>
        served.s3.send({ method: 'PUT', bucket: 'plain', ...change })
      const versioning = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'
      await put({ path: '/?versioning', body: versioning })
      await each()
      await put({ path: '/summed', body: 'others', headers: [[':meta-new', 'yes']] })
      await each()
      await put({
        path: '/summed?tagging',
        body: '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>',
      })
      await each()
      const answer = await bothAnswer(compared, headOf({ ...PLAIN, target: ['plain', 'summed'] }, served))
      assert.match(answer, /x-amz-meta-new: yes\r\n(?:.*\r\n)*\r\nothers$/)
      assert.match(answer, /x-amz-version-id: /)
      assert.match(answer, /x-amz-tagging-count: 1\r\n/)
    },
    { anyRegion: true },
  ),
)
