import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../model/faults.ts'
import { Admission, type Slot } from './admission.ts'

const LIMITS = { requestsMax: 4, anonymousMax: 2, bytesMax: 100, anonymousBytesMax: 30 }

const isRefused = (act: () => void): boolean => {
  try {
    act()
    return false
  } catch (error) {
    assert(error instanceof Fault)
    assert.equal(error.code, 'SlowDown')
    return true
  }
}

test('anonymous requests may use only their share of the slots', () => {
  const admission = new Admission(LIMITS)
  const enter = (isStranger: boolean): Slot => {
    const slot = admission.enter()
    slot.classify(isStranger)
    return slot
  }
  const first = enter(true)
  enter(true)
  const third = admission.enter()
  assert(isRefused(() => third.classify(true)))
  third.leave()
  assert.equal(enter(false).isOverLimit, false)
  assert.equal(enter(false).isOverLimit, false)
  assert.equal(admission.enter().isOverLimit, true)
  first.leave()
  enter(true)
})

test('an authenticated request no longer counts against the limit of anonymous ones', () => {
  const admission = new Admission(LIMITS)
  const places = Array.from({ length: 4 }, () => {
    const slot = admission.enter()
    slot.classify(true)
    slot.reserveMemory(20)
    slot.classify(false)
    return slot
  })
  const late = admission.enter()
  late.classify(true)
  late.reserveMemory(20)
  assert(isRefused(() => places[0]!.reserveMemory(1)))
})

test('reserved memory is bounded, more tightly for anonymous requests, and is released', () => {
  const admission = new Admission(LIMITS)
  const known = admission.enter()
  known.reserveMemory(70)
  const stranger = admission.enter()
  stranger.classify(true)
  stranger.reserveMemory(20)
  assert(
    isRefused(() => stranger.reserveMemory(11)),
    'more than strangers may hold',
  )
  stranger.reserveMemory(10)
  assert(
    isRefused(() => known.reserveMemory(1)),
    'more than all may hold',
  )
  stranger.leave()
  known.reserveMemory(30)
  known.leave()
  const other = admission.enter()
  other.classify(true)
  other.reserveMemory(30)
})

test('a slot that is left twice is released once', () => {
  const admission = new Admission({ requestsMax: 1, anonymousMax: 1, bytesMax: 1, anonymousBytesMax: 1 })
  const slot = admission.enter()
  slot.leave()
  slot.leave()
  assert.deepEqual([admission.enter().isOverLimit, admission.enter().isOverLimit], [false, true])
})
