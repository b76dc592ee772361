import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { firstSteps } from './first-steps.ts'

const URL = 'http://127.0.0.1:9000'
const SECRET = 'keep-this-to-yourself'

test('a root key of the environment: its secret is pointed at by its variable', async () => {
  const rootKey = { accessKey: 'admin', secretKey: SECRET }
  const text = (await firstSteps({ rootKey, data: './data', memory: false, region: 'eu-west-1' }, URL))!
  assert(text.includes('AWS_ACCESS_KEY_ID=admin AWS_SECRET_ACCESS_KEY="$HOLDFAST_ROOT_SECRET_KEY"'))
  assert(text.includes(`AWS_REGION=eu-west-1 aws --endpoint-url ${URL} s3 ls\n`))
  assert(text.includes(`mc alias set holdfast ${URL} admin "$HOLDFAST_ROOT_SECRET_KEY"\n`))
  assert(!text.includes(SECRET))
})

test('a root key that the server made: its secret is read from its file, however the folder is called', async () => {
  const data = mkdtempSync(join(tmpdir(), "holdfast it's "))
  try {
    writeFileSync(join(data, 'root-key'), `HFMADE\n${SECRET}\n`)
    const text = (await firstSteps({ rootKey: undefined, data, memory: false, region: 'us-east-1' }, URL))!
    const quoted = `'${join(data, 'root-key').replaceAll("'", "'\\''")}'`
    assert(text.includes(`AWS_ACCESS_KEY_ID=HFMADE AWS_SECRET_ACCESS_KEY="$(sed -n 2p ${quoted})"`), text)
    assert(!text.includes(SECRET))
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
})

test('a store in memory whose key was only shown: nothing', async () => {
  assert.equal(
    await firstSteps({ rootKey: undefined, data: './data', memory: true, region: 'us-east-1' }, URL),
    undefined,
  )
})
