import type { Completions } from './completions.ts'
import { type Librados, type Pointer, radosError } from './librados.ts'

/** A full pool refuses the operation instead of delaying it until there is space. Removals succeed. */
const FULL_TRY = 64
const EXCLUSIVE = 1
const PAGE = 1000
const ITEM_FIELDS = 6

/** Objects of one namespace in a pool. */
export interface ObjectNamespace {
  /** Creates the object with these bytes; EEXIST if there is one of this name. */
  create(object: string, bytes: Uint8Array): Promise<void>
  /** Durable on all copies when it resolves. The bytes are copied before it returns. */
  write(object: string, bytes: Uint8Array, offset: number): Promise<void>
  /** Fewer bytes than `into` has at the end of the object; none where it is missing. */
  read(object: string, into: Buffer, offset: number): Promise<number>
  /** Undefined when it is missing. */
  size(object: string): Promise<number | undefined>
  /** No error when it is missing. */
  remove(object: string): Promise<void>
  /** Names of all objects, in no order. */
  names(): AsyncIterable<string>
}

export class RadosNamespace implements ObjectNamespace {
  readonly #librados: Librados
  readonly #completions: Completions
  readonly #io: Pointer

  constructor(librados: Librados, completions: Completions, io: Pointer) {
    this.#librados = librados
    this.#completions = completions
    this.#io = io
  }

  create(object: string, bytes: Uint8Array): Promise<void> {
    return this.#change(`create ${object}`, object, op => {
      this.#librados.rados_write_op_create(op, EXCLUSIVE, null)
      if (bytes.length > 0) this.#librados.rados_write_op_write(op, bytes, bytes.length, 0)
    })
  }

  write(object: string, bytes: Uint8Array, offset: number): Promise<void> {
    return this.#change(`write ${object}`, object, op =>
      this.#librados.rados_write_op_write(op, bytes, bytes.length, offset),
    )
  }

  async remove(object: string): Promise<void> {
    try {
      await this.#change(`remove ${object}`, object, op => this.#librados.rados_write_op_remove(op))
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  async #change(what: string, object: string, build: (op: Pointer) => void): Promise<void> {
    const librados = this.#librados
    const op: Pointer = librados.rados_create_write_op()
    try {
      build(op)
      await this.#completions.run(what, completion =>
        librados.rados_aio_write_op_operate(op, this.#io, completion, object, null, FULL_TRY),
      )
    } finally {
      librados.rados_release_write_op(op)
    }
  }

  async read(object: string, into: Buffer, offset: number): Promise<number> {
    try {
      return await this.#completions.run(
        `read ${object}`,
        completion => this.#librados.rados_aio_read(this.#io, object, completion, into, into.length, offset),
        into,
      )
    } catch (error) {
      if (isMissing(error)) return 0
      throw error
    }
  }

  async size(object: string): Promise<number | undefined> {
    const { koffi, rados_aio_stat: stat } = this.#librados
    // Native memory, since a small buffer might be moved before the operation ends.
    const out = koffi.alloc('uint64_t', 2)
    try {
      await this.#completions.run(`stat ${object}`, completion =>
        stat(this.#io, object, completion, out, koffi.address(out) + 8n),
      )
      return Number(koffi.decode(out, 'uint64_t'))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    } finally {
      koffi.free(out)
    }
  }

  async *names(): AsyncGenerator<string, void, undefined> {
    this.#completions.assertOpen('list objects')
    const { rados_object_list_begin: begin, rados_object_list_cursor_free: free } = this.#librados
    const end: Pointer = this.#librados.rados_object_list_end(this.#io)
    // Each page starts at one cursor and sets the other one.
    let [start, next]: [Pointer, Pointer] = [begin(this.#io), begin(this.#io)]
    try {
      while (this.#librados.rados_object_list_is_end(this.#io, start) === 0) {
        yield* await this.#page(start, end, next)
        ;[start, next] = [next, start]
      }
    } finally {
      for (const cursor of [start, next, end]) free(this.#io, cursor)
    }
  }

  async #page(start: Pointer, end: Pointer, next: Pointer): Promise<readonly string[]> {
    const { koffi, rados_object_list: list, rados_object_list_free: free } = this.#librados
    const results = koffi.alloc('size_t', PAGE * ITEM_FIELDS)
    try {
      const args = [this.#io, start, end, PAGE, null, 0, results, [next]]
      const count = await this.#completions.call<number>('list objects', list, ...args)
      if (count < 0) throw radosError(count, 'list objects')
      const names: string[] = []
      for (let item = 0; item < count; item++) {
        // Each item is three pairs of length and text: name, namespace and locator.
        const at = item * ITEM_FIELDS * koffi.sizeof('size_t')
        const length = Number(koffi.decode(results, at, 'size_t'))
        names.push(koffi.decode(koffi.decode(results, at + koffi.sizeof('size_t'), 'void *'), 'char', length))
      }
      free(count, results)
      return names
    } finally {
      koffi.free(results)
    }
  }
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'
