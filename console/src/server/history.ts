/**
 * The metrics of the last minutes. Once the dashboard was opened, they are read until the session ends, so that its
 * plots are complete when one comes back to them.
 */
import { useEffect, useSyncExternalStore } from 'react'
import { call, sessionToken } from '../api/client.ts'
import { whenPersonReturns } from '../api/leaving.ts'
import { suspension } from '../api/suspension.ts'
import type { Reading } from './counters.ts'
import { type Point, pointOf } from './points.ts'

const INTERVAL_MS = 3000
export const WINDOW_SECONDS = 15 * 60
const FAMILIES = [
  'holdfast_request',
  'holdfast_received_bytes',
  'holdfast_sent_bytes',
  'holdfast_process_cpu',
  'holdfast_process_resident',
  'holdfast_filesystem',
  'holdfast_disk_full',
  'holdfast_maintenance',
  'holdfast_scrub',
  'holdfast_fsck_findings',
  'holdfast_meta_copy_findings',
  'holdfast_certificate',
  'holdfast_worker_restarts',
]

interface History {
  readonly points: readonly Point[]
  readonly first: Reading | undefined
  readonly latest: Reading | undefined
  readonly error: unknown
}

const EMPTY: History = { points: [], first: undefined, latest: undefined, error: undefined }

let history = EMPTY
/** The session that the history belongs to; it ends with it. */
let token: string | undefined
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function change(changed: History): void {
  history = changed
  for (const listener of listeners) listener()
}

function extended(now: Reading): History {
  const point = pointOf(history.latest, now)
  // Times of a plot only grow: a clock that was put back begins it anew.
  const points = point === undefined ? [] : [...history.points, point]
  const from = (points.at(-1)?.time ?? 0) - WINDOW_SECONDS
  return {
    points: points.filter(({ time }) => time >= from),
    first: history.first ?? now,
    latest: now,
    error: undefined,
  }
}

async function read(): Promise<void> {
  const own = token
  try {
    const reading = await call('GetMetricSamples', { prefix: FAMILIES.join(',') }, { isTimer: true })
    if (own === token) change(extended(reading))
  } catch (error) {
    if (own === token) change({ ...history, error })
  }
}

async function goOn(): Promise<void> {
  timer = undefined
  if (sessionToken.get() !== token) return stop()
  if (document.visibilityState === 'visible' && !suspension.isOn()) await read()
  // A tab that is not seen is idle; the next reading covers the time until then.
  if (token !== undefined && timer === undefined) timer = setTimeout(() => void goOn(), INTERVAL_MS)
}

function stop(): void {
  clearTimeout(timer)
  timer = undefined
  token = undefined
  change(EMPTY)
}

function start(): void {
  if (token === sessionToken.get()) return
  stop()
  token = sessionToken.get()
  void goOn()
}

whenPersonReturns(() => {
  if (token !== undefined) token = sessionToken.get()
  else if (listeners.size > 0) start()
})

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useHistory(): History {
  useEffect(start, [])
  return useSyncExternalStore(subscribe, () => history)
}
