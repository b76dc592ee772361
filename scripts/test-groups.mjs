/**
 * Node's test runner starts a process for every file, and a small file spends most of its time on loading the server.
 * A group is a module that imports several test files, which then share one process, as they do on Bun.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

/** Small enough that the last group to end does not leave the other cores idle for long. */
const FILES_PER_GROUP = 60

/** Neighbouring files take similar time, so they are distributed over different groups. */
export function groupsOf(files) {
  const wanted = Math.max(availableParallelism() + 1, Math.ceil(files.length / FILES_PER_GROUP))
  const count = Math.min(files.length, wanted)
  return Array.from({ length: count }, (_, group) => files.filter((_, index) => index % count === group))
}

/** Writes a module for each group, relative to the project, and removes them when this process ends. */
export function writeGroups(files) {
  const folder = join('dist', 'groups', String(process.pid))
  mkdirSync(folder, { recursive: true })
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return groupsOf(files).map((members, index) => {
    const path = join(folder, `${String(index + 1).padStart(2, '0')}.mjs`)
    writeFileSync(path, members.map(member => `await import('../../../${member}')\n`).join(''))
    return `./${path}`
  })
}
