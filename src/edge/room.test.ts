import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../model/faults.ts'
import { type Place, Room } from './room.ts'

const LIMITS = { requestsMax: 4, strangersMax: 2, bytesMax: 100, strangerBytesMax: 30 }

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

test('strangers take up a part of the room, and leave the rest to others', () => {
  const room = new Room(LIMITS)
  const enter = (isStranger: boolean): Place => {
    const place = room.enter()
    place.standing(isStranger)
    return place
  }
  const first = enter(true)
  enter(true)
  const third = room.enter()
  assert(isRefused(() => third.standing(true)))
  third.leave()
  assert.equal(enter(false).isBeyond, false)
  assert.equal(enter(false).isBeyond, false)
  assert.equal(room.enter().isBeyond, true)
  first.leave()
  enter(true)
})

test('whoever turns out to be known stops counting as a stranger', () => {
  const room = new Room(LIMITS)
  const places = Array.from({ length: 4 }, () => {
    const place = room.enter()
    place.standing(true)
    place.hold(20)
    place.standing(false)
    return place
  })
  const late = room.enter()
  late.standing(true)
  late.hold(20)
  assert(isRefused(() => places[0]!.hold(1)))
})

test('bytes that are held are bounded, more so for strangers, and come back', () => {
  const room = new Room(LIMITS)
  const known = room.enter()
  known.hold(70)
  const stranger = room.enter()
  stranger.standing(true)
  stranger.hold(20)
  assert(
    isRefused(() => stranger.hold(11)),
    'more than strangers may hold',
  )
  stranger.hold(10)
  assert(
    isRefused(() => known.hold(1)),
    'more than all may hold',
  )
  stranger.leave()
  known.hold(30)
  known.leave()
  const other = room.enter()
  other.standing(true)
  other.hold(30)
})

test('whoever leaves twice has left once', () => {
  const room = new Room({ requestsMax: 1, strangersMax: 1, bytesMax: 1, strangerBytesMax: 1 })
  const place = room.enter()
  place.leave()
  place.leave()
  assert.deepEqual([room.enter().isBeyond, room.enter().isBeyond], [false, true])
})
