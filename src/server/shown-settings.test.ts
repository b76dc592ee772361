import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'
import { shownSettings } from './shown-settings.ts'

test('settings are shown without passwords and secret parameters', () => {
  const config = readConfig(
    ['--meta', 'postgres://user:hidden-one@db/name', '--blobs', 's3://bucket/p?endpoint=http://s3:9000'],
    {
      HOLDFAST_ROOT_ACCESS_KEY: 'AKROOT',
      HOLDFAST_ROOT_SECRET_KEY: 'hidden-two-hidden-two',
      HOLDFAST_METRICS_TOKEN: 'hidden-three-of-length',
    },
  )!
  const shown = shownSettings(config)
  assert.doesNotMatch(JSON.stringify(shown), /hidden/)
  assert.deepEqual([shown.meta, shown['metrics-token']], ['postgres://user:***@db/name', 'set'])
  assert.equal(shown.blobs, 's3://bucket/p?endpoint=http://s3:9000')
})
