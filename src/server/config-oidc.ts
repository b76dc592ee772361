/** Flags of signing in to the console with OpenID Connect. */
import { isSafeIssuerUrl, type OidcSettings } from '../admin/console/oidc/oidc-issuer.ts'
import { BadConfig } from './bad-config.ts'
import { secretIn } from './config-secrets.ts'

const DEFAULT_CLAIM = 'holdfast_user'

const asText = (value: string): string => value

function issuerFrom(value: string, flag: string): string {
  if (isSafeIssuerUrl(value) && !/[?#]/.test(value)) return value
  throw new BadConfig(`--${flag} needs an https:// URL, or http:// on loopback, without a query, not ${value}`)
}

const flag = (value: string, meaning: string, read: (value: string, flag: string) => string = asText) => ({
  value,
  meaning,
  read,
  preset: undefined,
})

export const OIDC_FLAGS = {
  'oidc-issuer': flag('URL', 'sign in to the console with OpenID Connect at this issuer', issuerFrom),
  'oidc-client-id': flag('ID', 'the client id of the console at the issuer'),
  'oidc-client-secret-file': flag('FILE', 'file with the client secret; none for a public client'),
  'oidc-claim': flag('NAME', `the claim that names the user as ACCOUNT/USER (${DEFAULT_CLAIM})`),
  'oidc-name': flag('NAME', 'the name of the issuer on the sign-in page; by default its host'),
} as const

export function oidcFrom(
  values: { readonly [K in keyof typeof OIDC_FLAGS]: string | undefined },
): OidcSettings | undefined {
  const { 'oidc-issuer': issuer, 'oidc-client-id': clientId, 'oidc-client-secret-file': file } = values
  if (issuer === undefined || clientId === undefined || clientId === '') {
    const given = Object.entries(values).find(([name, value]) => name.startsWith('oidc-') && value !== undefined)
    if (given !== undefined)
      throw new BadConfig('--oidc-issuer and --oidc-client-id go together, before other --oidc flags')
    return undefined
  }
  return {
    issuer,
    clientId,
    clientSecret: file === undefined ? undefined : secretIn(file, '--oidc-client-secret-file'),
    claim: values['oidc-claim'] || DEFAULT_CLAIM,
    name: values['oidc-name'] || new URL(issuer).hostname,
  }
}
