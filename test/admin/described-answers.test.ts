/** Answers are as the API description says: the console's client is generated from it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_ROUTES } from '../../src/admin/index.ts'
import type { Schema } from '../../src/admin/input.ts'
import { backupPlace } from '../../src/server/backups.ts'
import { put, withFolder } from '../store/fixture.ts'
import { signedInPage } from './console-fixture.ts'
import { withConsole } from './fixture.ts'

/** Where a value differs from its schema; properties that are not described count as differences. */
function differences(schema: Schema, value: unknown, at = ''): string[] {
  if (value === null) return schema.nullable === true ? [] : [`${at} is null`]
  if (schema.type === 'array') {
    if (!Array.isArray(value)) return [`${at} is no list`]
    return value.flatMap((one, i) => differences(schema.items ?? {}, one, `${at}[${i}]`))
  }
  if (schema.type === 'object') {
    if (typeof value !== 'object' || Array.isArray(value)) return [`${at} is no object`]
    const { properties, required = [] } = schema
    if (properties === undefined) return []
    const missing = required.filter(name => !(name in (value as object))).map(name => `${at}.${name} is missing`)
    const more = Object.entries(value as object).flatMap(([name, one]) => {
      const described = properties[name]
      return described === undefined ? [`${at}.${name} is not described`] : differences(described, one, `${at}.${name}`)
    })
    return [...missing, ...more]
  }
  if (schema.oneOf !== undefined) {
    return schema.oneOf.some(one => differences(one, value).length === 0) ? [] : [`${at} is none of its kinds`]
  }
  if (schema.enum !== undefined) return schema.enum.includes(value as string) ? [] : [`${at} is ${value}`]
  const type = schema.type === 'integer' ? 'number' : schema.type
  return typeof value === type ? [] : [`${at} is no ${type}`]
}

const BUCKET = { bucket: 'kept' }
const RULE = '<ID>r</ID><Filter/><Status>Enabled</Status><Expiration><Days>1</Days></Expiration>'
const DOCUMENT = `<LifecycleConfiguration><Rule>${RULE}</Rule></LifecycleConfiguration>`
const QUESTION = { action: 's3:ListBucket', ...BUCKET }
const USER = { accountId: '111111111111', user: 'ann', accessKey: 'AKANN', policy: 'p' }
const POLICY = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}}'
const REMOVAL = { action: 's3:DeleteObject', ...BUCKET, key: 'a' }

/** Parameters of paths. */
const PLACES: Readonly<Record<string, string>> = { ...BUCKET, ...USER, name: 'payroll' }

/** The bodies of routes that take one. */
const BODIES: Readonly<Record<string, object>> = {
  AttachPolicy: { document: POLICY },
  ChangeAccount: { displayName: 'main' },
  ChangeEncryptionKey: { disabled: true },
  ChangeKey: { disabled: false },
  ChangeUser: { disabled: false },
  CheckPolicy: { document: POLICY, ...BUCKET },
  CreateEncryptionKey: { name: 'archive' },
  CreateUser: { name: 'ben' },
  CreateKey: { user: 'ann' },
  Explain: { ...REMOVAL, as: 'AKANN' },
  GetPermissions: { questions: [QUESTION, REMOVAL] },
  PresignRequests: { requests: [{ method: 'GET', ...BUCKET, headers: { 'x-amz-meta-a': 'b' } }] },
  PreviewLifecycle: { document: DOCUMENT, days: 3 },
  StartServerBackup: { name: 'main' },
  RotateEncryption: { what: 'named', name: 'payroll' },
  ValidatePolicy: { document: POLICY },
  SignIn: { accessKey: 'AKROOT', secretKey: 'the-secret-of-the-root' },
}

test('every described answer has the properties that its description names, and no others', () => {
  const startedAt = new Date(0).toISOString()
  const one = { pid: 1, startedAt, listening: true, residentBytes: 1, cpuSeconds: 0.5, requestsInFlight: 0 }
  const inspection = { processes: async () => [one], settings: {}, websiteHosts: ['website.localhost'] }
  return withFolder(folder =>
    withConsole(
      async consoled => {
        const { parts, ask } = consoled
        await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'kept', lock: true } })
        const { id } = await put(parts.store, 'kept', 'a', 'a')
        await parts.store.objects.setHold({ bucket: 'kept', key: 'a', versionId: id }, true)
        const until = consoled.clock.now() + 1
        await parts.store.objects.setRetention(
          { bucket: 'kept', key: 'a', versionId: id },
          { mode: 'governance', until },
        )
        const { accountId, user: name, accessKey } = USER
        await consoled.accounts.create({ accountId })
        await consoled.accounts.createUser(accountId, name)
        await consoled.accounts.createKey({ accountId, user: name, accessKey, secretKey: 'a-secret-of-some-length' })
        const page = await signedInPage(consoled)
        // Signing in with OpenID Connect needs an issuer and has its own tests.
        const described = ADMIN_ROUTES.routes.filter(one => one.answer !== undefined && !/Oidc/.test(one.name))
        assert(described.length >= 15)
        // Last, since it ends the session of the page.
        described.sort((a, b) => Number(a.name === 'SignIn') - Number(b.name === 'SignIn'))
        for (const { name: route, method, path, answer } of described) {
          const body = BODIES[route]
          const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => PLACES[field]!)
          const { status, text, json } = await page.ask({
            method,
            path: filled,
            ...(body === undefined ? {} : { body }),
          })
          assert(status < 300, `${route}: ${text}`)
          assert.deepEqual(differences(answer!, json()), [], route)
        }
      },
      { inspection, place: backupPlace(folder) },
    ),
  )
})
