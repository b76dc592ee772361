import { suggestion } from '../../lib/did-you-mean.ts'
import { type Command, type Invocation, onServer } from '../command.ts'
import { BadUsage } from '../failures.ts'
import { facts, table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const NAME = { name: 'NAME', meaning: 'the key, as requests name it' }
const KINDS = ['service', 'storage', 'named']

const nameOf = (call: Invocation): TableRow => ({ name: call.argument('NAME') })

const list = onServer({
  name: 'encryption list',
  summary: 'encryption keys that somebody made or changed, and how often the keys of the keyring were rotated',
  run: showAdminResult(
    'GetEncryption',
    () => ({}),
    answer => {
      const { keys: _keys, ...keyring } = answer
      return `${facts(keyring)}\n\n${table(rows(answer, 'keys'), ['name', 'version', 'disabled'])}`
    },
  ),
})

const create = onServer({
  name: 'encryption create',
  summary: 'make a named key',
  examples: ['encryption create invoices'],
  arguments: [NAME],
  run: runAdminCommand('CreateEncryptionKey', nameOf, call => `encryption key ${call.argument('NAME')} is there`),
})

const disable = onServer({
  name: 'encryption disable',
  summary: 'nothing under a named key can be read or written; refused while it wraps a locked version',
  examples: ['encryption disable invoices'],
  arguments: [NAME],
  async run(call) {
    const admin = await call.admin()
    const ask = (): Promise<TableRow> => admin.ask('ChangeEncryptionKey', { ...nameOf(call), disabled: true })
    let value = await ask()
    // Each time the answer comes only after a while.
    for (; value.checking !== undefined; value = await ask()) {
      call.progress(`looking for locked versions: ${value.checking} so far`)
    }
    return { value, text: `encryption key ${call.argument('NAME')} is disabled` }
  },
})

const enable = onServer({
  name: 'encryption enable',
  summary: 'what is under a named key can be read again',
  examples: ['encryption enable invoices'],
  arguments: [NAME],
  run: runAdminCommand(
    'ChangeEncryptionKey',
    call => ({ ...nameOf(call), disabled: false }),
    call => `encryption key ${call.argument('NAME')} is enabled`,
  ),
})

const rotate = onServer({
  name: 'encryption rotate',
  summary: 'seal what is new with a new key; the old ones go on opening what they sealed',
  examples: ['encryption rotate service', 'encryption rotate named --name invoices'],
  arguments: [{ name: KINDS.join('|'), meaning: 'service: AES256; storage: the outer seal of everything; named keys' }],
  flags: [{ name: 'name', value: 'NAME', meaning: 'only the named key of this name' }],
  run: showAdminResult('RotateEncryption', call => {
    const what = call.argument(KINDS.join('|'))
    if (!KINDS.includes(what))
      throw new BadUsage(`unknown kind of key ${what}: ${KINDS.join(', ')}${suggestion(what, KINDS)}`)
    return { what, name: call.flag('name') }
  }),
})

/** One round through the store. */
async function round(call: Invocation): Promise<Record<'looked' | 'rewrapped' | 'left', number>> {
  const admin = await call.admin()
  const sum = { looked: 0, rewrapped: 0, left: 0 }
  for (let from: unknown; ; ) {
    const step = await admin.ask('RewrapEncryption', { from })
    for (const name of ['looked', 'rewrapped', 'left'] as const) sum[name] += Number(step[name])
    from = step.next
    if (from === undefined) return sum
    call.progress(`${sum.looked} records looked at, ${sum.rewrapped} wrapped anew`)
  }
}

const rewrap = onServer({
  name: 'encryption rewrap',
  summary: 'after a rotation, wrap the keys of what is stored by the new key; no object is read or changed',
  async run(call) {
    let value = await round(call)
    // What changed its place meanwhile may have been overlooked, or sealed by a request that began before the rotation.
    for (let last = value; last.rewrapped > 0; ) {
      last = await round(call)
      value = { ...last, rewrapped: value.rewrapped + last.rewrapped }
    }
    const left = value.left === 0 ? '' : `; ${value.left} are under keys that are disabled or unknown, and stay`
    return { value, text: `${value.looked} records, ${value.rewrapped} wrapped anew${left}` }
  },
})

export const encryptionCommands: readonly Command[] = [list, create, disable, enable, rotate, rewrap]
