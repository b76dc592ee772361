import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { bindLibrados, radosError } from './librados.ts'

test('a missing package or library is reported with how to install it', async () => {
  const absent = (): Promise<never> => Promise.reject(new Error('Cannot find package'))
  await assert.rejects(bindLibrados(absent, 'librados.so.2'), /npm package koffi.*npm install koffi/)
  const unknown = 'librados-that-is-not-there.so.2'
  await assert.rejects(
    bindLibrados(() => import('koffi'), unknown),
    /librados\.so\.2.*apt install librados2/,
  )
})

test('errors of librados have the codes of files, and outages are unavailability', () => {
  const codeOf = (result: number): string | undefined => (radosError(result, 'write x') as NodeJS.ErrnoException).code
  assert.deepEqual([-2, -17, -28, -122].map(codeOf), ['ENOENT', 'EEXIST', 'ENOSPC', 'EDQUOT'])
  for (const result of [-110, -107, -108]) assert(radosError(result, 'write x') instanceof EngineUnavailable)
  assert.equal(String(radosError(-110, 'write x')), 'EngineUnavailable: RADOS: write x: ETIMEDOUT')
})
