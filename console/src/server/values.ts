/** Figures of the dashboard as people read them. */
const short = (value: number): string => {
  if (value === 0 || value >= 100) return String(Math.round(value))
  if (value >= 10) return String(Number(value.toFixed(1)))
  return value < 0.01 ? '<0.01' : String(Number(value.toFixed(2)))
}

export const rateText = (perSecond: number): string => `${short(perSecond)}/s`
export const coresText = (cores: number): string => `${short(cores)} ${cores === 1 ? 'core' : 'cores'}`
export const shareText = (share: number): string =>
  `${share > 0 && share < 0.001 ? '<0.1' : Number((share * 100).toFixed(1))}%`

/** A latency. */
export const secondsText = (seconds: number): string =>
  seconds < 1 ? `${short(seconds * 1000)} ms` : `${short(seconds)} s`

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** An age or a span: its two largest units. */
export function durationText(seconds: number): string {
  let left = Math.max(0, Math.round(seconds))
  const parts: string[] = []
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0 || (parts.length === 0 && unit === 's')) parts.push(`${count} ${unit}`)
    else if (parts.length > 0) break
    if (parts.length === 2) break
  }
  return parts.join(' ')
}

/** The time that work took. */
export const spentText = (seconds: number): string => (seconds < 60 ? secondsText(seconds) : durationText(seconds))
