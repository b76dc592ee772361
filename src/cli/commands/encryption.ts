import { suggestion } from '../../lib/did-you-mean.ts'
import { type Command, type Invocation, onServer } from '../command.ts'
import { BadUsage } from '../failures.ts'
import { facts, table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const NAME = { name: 'NAME', meaning: 'key name, as requests use it' }
const KINDS = ['service', 'storage', 'named']

const nameOf = (call: Invocation): TableRow => ({ name: call.argument('NAME') })

const list = onServer({
  name: 'encryption list',
  summary: 'list the named encryption keys and the rotations of the keyring',
  run: showAdminResult(
    'GetEncryption',
    () => ({}),
    result => {
      const { keys: _keys, ...keyring } = result
      return `${facts(keyring)}\n\n${table(rows(result, 'keys'), ['name', 'version', 'disabled'])}`
    },
  ),
})

const create = onServer({
  name: 'encryption create',
  summary: 'create a named key',
  examples: ['encryption create invoices'],
  arguments: [NAME],
  run: runAdminCommand('CreateEncryptionKey', nameOf, call => `encryption key ${call.argument('NAME')} exists`),
})

const disable = onServer({
  name: 'encryption disable',
  summary: 'disable a named key: its objects cannot be read or written; refused while it wraps a locked version',
  examples: ['encryption disable invoices'],
  arguments: [NAME],
  async run(call) {
    const admin = await call.admin()
    const ask = (): Promise<TableRow> => admin.ask('ChangeEncryptionKey', { ...nameOf(call), disabled: true })
    let value = await ask()
    // Each response takes a while, so this is not a busy loop.
    for (; value.checking !== undefined; value = await ask()) {
      call.progress(`looking for locked versions: ${value.checking} so far`)
    }
    return { value, text: `encryption key ${call.argument('NAME')} is disabled` }
  },
})

const enable = onServer({
  name: 'encryption enable',
  summary: 'enable a disabled named key',
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
  summary: 'rotate a key: new data uses the new key, old data stays readable',
  examples: ['encryption rotate service', 'encryption rotate named --name invoices'],
  arguments: [
    {
      name: KINDS.join('|'),
      meaning: 'service: SSE with AES256; storage: encryption of everything on disk; named: named keys',
    },
  ],
  flags: [{ name: 'name', value: 'NAME', meaning: 'rotate only this named key' }],
  run: showAdminResult('RotateEncryption', call => {
    const what = call.argument(KINDS.join('|'))
    if (!KINDS.includes(what))
      throw new BadUsage(`unknown kind of key ${what}: ${KINDS.join(', ')}${suggestion(what, KINDS)}`)
    return { what, name: call.flag('name') }
  }),
})

/** One pass over the store. */
async function round(call: Invocation): Promise<Record<'looked' | 'rewrapped' | 'left', number>> {
  const admin = await call.admin()
  const sum = { looked: 0, rewrapped: 0, left: 0 }
  for (let from: unknown; ; ) {
    const step = await admin.ask('RewrapEncryption', { from })
    for (const name of ['looked', 'rewrapped', 'left'] as const) sum[name] += Number(step[name])
    from = step.next
    if (from === undefined) return sum
    call.progress(`${sum.looked} records examined, ${sum.rewrapped} rewrapped`)
  }
}

const rewrap = onServer({
  name: 'encryption rewrap',
  summary: 'wrap stored data keys with the new key after a rotation; object data is not read',
  async run(call) {
    let value = await round(call)
    // A pass can miss records that moved, or that a request begun before the rotation wrote.
    for (let last = value; last.rewrapped > 0; ) {
      last = await round(call)
      value = { ...last, rewrapped: value.rewrapped + last.rewrapped }
    }
    const left = value.left === 0 ? '' : `; ${value.left} are under keys that are disabled or unknown, and stay`
    return { value, text: `${value.looked} records, ${value.rewrapped} rewrapped${left}` }
  },
})

export const encryptionCommands: readonly Command[] = [list, create, disable, enable, rotate, rewrap]
