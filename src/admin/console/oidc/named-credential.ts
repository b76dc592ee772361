/** The credential that a claim names: the oldest enabled key of a user, or of an account itself. */
import type { Credential } from '../../../model/caller.ts'
import { Fault } from '../../../model/faults.ts'
import type { Accounts } from '../../../store/identity/accounts.ts'
import type { IdentitySnapshot } from '../../../store/identity/identity-cache.ts'

const NAME = /^(?<accountId>\d{12})(?:\/(?<user>[^\0]{1,256}))?$/

export async function credentialNamed(
  name: string,
  accounts: Accounts,
  identities: IdentitySnapshot,
): Promise<Credential> {
  const { accountId, user } = NAME.exec(name)?.groups ?? {}
  const keys = accountId === undefined ? [] : await accounts.keys({ accountId, user })
  for (const { accessKey } of keys.sort((one, other) => one.createdAt - other.createdAt)) {
    const credential = await identities.findCredential(accessKey)
    if (credential !== undefined && credential.user?.name === user) return credential
  }
  const reason = 'Your account at the issuer names no user of this server with an enabled access key.'
  throw new Fault('AccessDenied', { reason })
}
