/** Figures, ages and commands of the console's pages of the server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backupCommand, folderCommand } from '../../console/src/server/commands.ts'
import { type SeenMembers, seenMembers, silenceOf } from '../../console/src/server/renewals.ts'
import {
  coresText,
  durationText,
  rateText,
  secondsText,
  shareText,
  spentText,
} from '../../console/src/server/values.ts'

test('figures have few digits', () => {
  assert.deepEqual([0, 0.001, 0.25, 1.5, 12.34, 1234.5].map(rateText), [
    '0/s',
    '<0.01/s',
    '0.25/s',
    '1.5/s',
    '12.3/s',
    '1235/s',
  ])
  assert.deepEqual([0.00042, 0.012, 0.25, 1.25, 90].map(secondsText), ['0.42 ms', '12 ms', '250 ms', '1.25 s', '90 s'])
  assert.deepEqual([0, 0.0001, 0.0123, 1].map(shareText), ['0%', '<0.1%', '1.2%', '100%'])
  assert.deepEqual([1, 0.5].map(coresText), ['1 core', '0.5 cores'])
})

test('an age has its two largest units', () => {
  for (const [seconds, text] of [
    [0, '0 s'],
    [59.6, '1 min'],
    [61, '1 min 1 s'],
    [3600, '1 h'],
    [3605, '1 h'],
    [7260, '2 h 1 min'],
    [90_000, '1 d 1 h'],
    [86_460, '1 d'],
    [-5, '0 s'],
  ] as const) {
    assert.equal(durationText(seconds), text)
  }
  assert.deepEqual([0.5, 75].map(spentText), ['500 ms', '1 min 15 s'])
})

test('commands name the folders of the server, safe for a shell', () => {
  assert.equal(folderCommand('fsck', { data: '/srv/holdfast', workers: 2 }), 'holdfast fsck --data /srv/holdfast')
  assert.equal(
    folderCommand('rebuild', { data: "it's; rm", blobs: 's3://b/p?endpoint=http://h&x=$HOME' }),
    "holdfast rebuild --data 'it'\\''s; rm' --blobs 's3://b/p?endpoint=http://h&x=$HOME'",
  )
  assert.match(backupCommand('https://host:9001'), / --endpoint https:\/\/host:9001$/)
})

const member = (renewals: number) => [{ id: 'a', renewals }]

test('a member is alive when it has renewed, and silent when it stops', () => {
  const silence = (seen: SeenMembers, now: number) => silenceOf(seen.get('a')!, now)
  const first = seenMembers(new Map(), member(5), 1000)
  assert.equal(silence(first, 1000), undefined)
  const same = seenMembers(first, member(5), 3000)
  assert.equal(silence(same, 3000), undefined)
  assert.equal(silence(same, 11_000), 10)
  const renewed = seenMembers(same, member(6), 12_000)
  assert.equal(silence(renewed, 12_000), 0)
  assert.equal(silence(renewed, 15_000), 0)
  assert.equal(silence(seenMembers(renewed, member(6), 20_000), 20_000), 8)
  // A member that comes back under the same id counts from the beginning.
  assert.equal(silence(seenMembers(renewed, member(0), 21_000), 21_000), 0)
  assert.equal(seenMembers(renewed, [], 22_000).size, 0)
})
