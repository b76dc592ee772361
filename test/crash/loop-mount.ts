/**
 * A filesystem in a file, mounted by a loop device, whose power can be cut: the filesystem shuts down at once without
 * writing its log, so that the page cache is lost, as with the machine.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

export type Filesystem = 'ext4' | 'xfs'

const MAKE: Readonly<Record<Filesystem, readonly string[]>> = { ext4: ['-q', '-F', '-m', '0'], xfs: ['-q', '-f'] }

/** FS_IOC_SHUTDOWN and FS_SHUTDOWN_FLAGS_NOLOGFLUSH. */
const SHUTDOWN = 'import fcntl, os, struct, sys; fcntl.ioctl(os.open(sys.argv[1], 0), 0x8004587D, struct.pack("I", 2))'

const UNMOUNT_TRIES_MAX = 50
const UNMOUNT_PAUSE_MS = 100

function run(command: string, args: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? undefined : `${command} ${args.join(' ')}: ${stderr.trim() || `ended with ${status}`}`
}

function must(command: string, args: readonly string[]): void {
  const failure = run(command, args)
  if (failure !== undefined) throw new Error(failure)
}

const mounted = new Set<LoopMount>()

// An interrupted run leaves no mount behind.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    for (const mount of mounted) mount.abandon()
    process.exit(1)
  })
}

export class LoopMount {
  readonly folder: string
  readonly #image: string

  private constructor(image: string, folder: string) {
    this.#image = image
    this.folder = folder
  }

  /** A fresh filesystem, mounted; or the reason why there cannot be one here. */
  static make(filesystem: Filesystem, scratch: string, bytes: number): LoopMount | string {
    if (process.platform !== 'linux') return 'needs Linux'
    if (process.getuid?.() !== 0) return 'needs root to mount a filesystem'
    if (run('python3', ['-c', 'import fcntl']) !== undefined) return 'needs python3 to shut a filesystem down'
    const image = join(scratch, 'image')
    const folder = join(scratch, 'mount')
    mkdirSync(folder, { recursive: true })
    writeFileSync(image, '')
    truncateSync(image, bytes)
    const failure = run(`mkfs.${filesystem}`, [...MAKE[filesystem], image])
    if (failure !== undefined) return `cannot make ${filesystem}: ${failure}`
    const mount = new LoopMount(image, folder)
    const refused = mount.#tryMount()
    return refused === undefined ? mount : `cannot mount a loop device: ${refused}`
  }

  #tryMount(): string | undefined {
    const failure = run('mount', ['-o', 'loop', this.#image, this.folder])
    if (failure === undefined) mounted.add(this)
    return failure
  }

  cutPower(): void {
    must('python3', ['-c', SHUTDOWN, this.folder])
  }

  /** After a power cut the filesystem replays its log here. */
  async remount(): Promise<void> {
    await this.#unmount()
    const failure = this.#tryMount()
    if (failure !== undefined) throw new Error(failure)
  }

  async #unmount(): Promise<void> {
    // The kernel may still be closing the files of a process that was just killed.
    for (let tries = 1; ; tries++) {
      const failure = run('umount', [this.folder])
      if (failure === undefined) break
      if (tries === UNMOUNT_TRIES_MAX) throw new Error(failure)
      await wait(UNMOUNT_PAUSE_MS)
    }
    mounted.delete(this)
  }

  async dispose(): Promise<void> {
    try {
      if (mounted.has(this)) await this.#unmount()
    } catch {
      this.abandon()
    }
    rmSync(this.#image, { force: true })
  }

  /** A lazy unmount; the kernel detaches it when the last file is closed. */
  abandon(): void {
    run('umount', ['-l', this.folder])
    mounted.delete(this)
    rmSync(this.#image, { force: true })
  }
}
