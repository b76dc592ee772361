import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../lib/clock.ts'
import { COMPACT_MS, CompactionSchedule } from './compaction-schedule.ts'

const MIB = 2 ** 20

function scheduled() {
  const clock = new ManualClock()
  const rounds: string[] = []
  const answers: ('busy' | 'idle')[] = []
  const reclaimer = { packedBytesFreed: 0 }
  const compactor = {
    surveyMs: 0,
    async step(): Promise<'busy' | 'idle'> {
      rounds.push('whole')
      return answers.shift() ?? 'idle'
    },
    async removeDead() {
      rounds.push('dead')
    },
  }
  const schedule = new CompactionSchedule(compactor, reclaimer, clock)
  const after = async (ms: number): Promise<void> => {
    clock.move(ms)
    await schedule.step()
  }
  return { clock, rounds, answers, reclaimer, compactor, schedule, after }
}

test('every minute a whole round moves blobs; before that nothing is surveyed until enough was freed', async () => {
  const { rounds, reclaimer, after } = scheduled()
  for (const ms of [0, 1_000, COMPACT_MS - 1_001]) await after(ms)
  assert.deepEqual(rounds, ['whole'])
  await after(1)
  reclaimer.packedBytesFreed = 256 * MIB
  for (const ms of [1_000, 1_000, COMPACT_MS - 2_000]) await after(ms)
  assert.deepEqual(rounds, ['whole', 'whole', 'dead', 'whole'])
})

test('a whole round that emptied volumes is followed by another', async () => {
  const { rounds, answers, schedule } = scheduled()
  answers.push('busy', 'busy', 'idle')
  for (const expected of ['busy', 'busy', 'idle', 'idle']) assert.equal(await schedule.step(), expected)
  assert.deepEqual(rounds, ['whole', 'whole', 'whole'])
})

test('whole rounds that empty volumes again and again survey for at most a twentieth of the time', async () => {
  const { clock, rounds, compactor, schedule } = scheduled()
  compactor.step = async () => {
    rounds.push('whole')
    clock.move(10_000)
    compactor.surveyMs = 10_000
    return 'busy'
  }
  while (clock.elapsed() < 3_600_000) {
    if ((await schedule.step()) === 'idle') clock.move(1_000)
  }
  assert.equal(rounds.length, Math.ceil(3_600 / 210))
})

test('a round is due once as much was freed as a volume holds', async () => {
  const { reclaimer, schedule, after } = scheduled()
  await after(0)
  assert.equal(schedule.isDue(), false)
  reclaimer.packedBytesFreed = 255 * MIB
  assert.equal(schedule.isDue(), false)
  reclaimer.packedBytesFreed = 256 * MIB
  assert.equal(schedule.isDue(), true)
  await after(1_000)
  assert.equal(schedule.isDue(), false)
  reclaimer.packedBytesFreed = 512 * MIB
  assert.equal(schedule.isDue(), true)
})

test('a whole round is due after a minute, also where dead volumes were removed meanwhile', async () => {
  const { clock, rounds, reclaimer, schedule, after } = scheduled()
  await after(0)
  reclaimer.packedBytesFreed = 256 * MIB
  await after(COMPACT_MS - 1_000)
  assert.deepEqual(rounds, ['whole', 'dead'])
  assert.equal(schedule.isDue(), false)
  clock.move(1_000)
  assert.equal(schedule.isDue(), true)
})

test('a whole round that takes longer than a minute is followed by a pause, too', async () => {
  const { clock, compactor, schedule } = scheduled()
  compactor.step = async () => {
    clock.move(3 * COMPACT_MS)
    return 'idle'
  }
  await schedule.step()
  clock.move(COMPACT_MS - 1)
  assert.equal(schedule.isDue(), false)
  clock.move(1)
  assert.equal(schedule.isDue(), true)
})

test('a whole round that fails is not due again before a minute is over', async () => {
  const { clock, reclaimer, compactor, schedule } = scheduled()
  compactor.step = async () => {
    compactor.surveyMs = 500
    throw new Error('a damaged record')
  }
  await assert.rejects(schedule.step(), /damaged/)
  reclaimer.packedBytesFreed = 256 * MIB
  clock.move(9_999)
  assert.equal(schedule.isDue(), false)
  clock.move(1)
  assert.equal(schedule.isDue(), true)
  // Only dead volumes are looked for until then.
  await schedule.step()
  clock.move(COMPACT_MS - 10_001)
  assert.equal(schedule.isDue(), false)
  clock.move(1)
  assert.equal(schedule.isDue(), true)
})

test('a round that takes long is not due again soon', async () => {
  const { clock, reclaimer, compactor, schedule, after } = scheduled()
  compactor.surveyMs = 2_000
  await after(0)
  reclaimer.packedBytesFreed = 1_000 * MIB
  clock.move(39_999)
  assert.equal(schedule.isDue(), false)
  clock.move(1)
  assert.equal(schedule.isDue(), true)
})

test('whole rounds over very many blobs are further apart', async () => {
  const { clock, compactor, schedule, after } = scheduled()
  compactor.surveyMs = 10_000
  await after(0)
  clock.move(200_000 - 1)
  assert.equal(schedule.isDue(), false)
  clock.move(1)
  assert.equal(schedule.isDue(), true)
})

test('a single slow survey postpones the next round by an hour at most', async () => {
  const { clock, compactor, schedule, after } = scheduled()
  compactor.surveyMs = 1_800_000
  await after(0)
  clock.move(3_600_000 - 1)
  assert.equal(schedule.isDue(), false)
  clock.move(1)
  assert.equal(schedule.isDue(), true)
})
