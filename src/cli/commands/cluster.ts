/** Commands about the gateways that share a store. */
import { type Command, onServer } from '../command.ts'
import { facts, table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const COLUMNS = ['id', 'address', 'version', 'joinedAt', 'renewals', 'leads']

const membersTable = (result: TableRow): string => table(rows(result, 'members'), COLUMNS)

function statusText(result: TableRow): string {
  const { members: _, ...cluster } = result
  return `${facts(cluster)}\n\n${membersTable(result)}`
}

const status = onServer({
  name: 'cluster status',
  summary: 'show the leader and the members of the cluster',
  examples: ['cluster status'],
  run: showAdminResult('GetCluster', () => ({}), statusText),
})

const members = onServer({
  name: 'cluster members',
  summary: 'list the members of the cluster',
  examples: ['cluster members', 'cluster members --json'],
  run: showAdminResult('GetCluster', () => ({}), membersTable),
})

const leader = onServer({
  name: 'cluster leader',
  summary: 'show the member that runs maintenance',
  examples: ['cluster leader'],
  run: showAdminResult(
    'GetCluster',
    () => ({}),
    ({ leader: address }) => String(address ?? 'no member leads'),
  ),
})

const expel = onServer({
  name: 'cluster expel',
  summary: 'expel a member: none of its commits takes effect any more; a live one joins again',
  examples: ['cluster expel 3f9a0c2b7d11'],
  arguments: [{ name: 'ID', meaning: 'the id of the member, as in cluster members' }],
  run: runAdminCommand(
    'ExpelMember',
    call => ({ id: call.argument('ID') }),
    call => `expelled ${call.argument('ID')}`,
  ),
})

export const clusterCommands: readonly Command[] = [status, members, leader, expel]
