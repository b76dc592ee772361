/** Conditions that an administrator should look at, from the metrics. */
import { bytesText } from '../format.ts'
import { toServer } from '../router.tsx'
import { serverTexts } from '../texts/server.ts'
import { increases, type Reading } from './counters.ts'

const t = serverTexts.attention

interface Concern {
  readonly text: string
  readonly href?: string
}

const LOW_SHARE = 0.05
const CERTIFICATE_DAYS = 21
const DAY_SECONDS = 86_400

const valuesOf = ({ samples }: Reading, family: string) => samples.filter(({ name }) => name === family)
const mostOf = (reading: Reading, family: string): number =>
  Math.max(0, ...valuesOf(reading, family).map(({ value }) => value))

function ofDisks(latest: Reading): Concern[] {
  const unsafe = valuesOf(latest, 'holdfast_filesystem_unsafe').filter(({ value }) => value > 0)
  const kinds = [...new Set(unsafe.map(({ labels }) => labels.kind ?? ''))]
  const told = kinds.map(kind => ({ text: t.unsafeDisk(kind) }))
  if (mostOf(latest, 'holdfast_disk_full') > 0) return [{ text: t.diskFull }, ...told]
  const sizes = new Map(
    valuesOf(latest, 'holdfast_filesystem_size_bytes').map(({ labels, value }) => [labels.folder, value]),
  )
  const low = valuesOf(latest, 'holdfast_filesystem_free_bytes').find(
    ({ labels, value }) => value < LOW_SHARE * (sizes.get(labels.folder) ?? 0),
  )
  return low === undefined ? told : [{ text: t.diskLow(bytesText(low.value)) }, ...told]
}

function ofCertificate(latest: Reading): Concern[] {
  const expiry = valuesOf(latest, 'holdfast_certificate_expiry_timestamp_seconds')[0]?.value
  if (expiry === undefined) return []
  const days = Math.floor((expiry - Date.parse(latest.time) / 1000) / DAY_SECONDS)
  return days < CERTIFICATE_DAYS ? [{ text: t.certificate(days) }] : []
}

function ofMaintenance(first: Reading, latest: Reading): Concern[] {
  const failed = increases(first, latest).filter(
    ({ name, value }) => name === 'holdfast_maintenance_failures_total' && value > 0,
  )
  const tasks = failed.map(({ labels }) => serverTexts.maintenance.names[labels.worker ?? ''] ?? labels.worker)
  return tasks.length === 0 ? [] : [{ text: t.maintenance(tasks.join(', ')) }]
}

/** `first` is the reading since which failures count. */
export function concernsOf(first: Reading, latest: Reading): Concern[] {
  const damaged = mostOf(latest, 'holdfast_scrub_damaged')
  const found = mostOf(latest, 'holdfast_fsck_findings')
  const lost = mostOf(latest, 'holdfast_meta_copy_findings')
  const href = toServer('integrity')
  return [
    ...ofDisks(latest),
    ...(lost > 0 ? [{ text: t.lostRecords(lost), href }] : []),
    ...(damaged > 0 ? [{ text: t.damaged(damaged), href }] : []),
    ...(found > 0 ? [{ text: t.checked(found), href }] : []),
    ...ofCertificate(latest),
    ...ofMaintenance(first, latest),
  ]
}
