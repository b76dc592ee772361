/** Origins in the configuration: scheme, host and port of a URL, as browsers send them. */
import { BadConfig } from './bad-config.ts'

export function originFrom(text: string, flag: string): string {
  const given = text.trim()
  if (URL.canParse(given)) {
    const { protocol, href, origin } = new URL(given)
    if (/^https?:$/.test(protocol) && href === `${origin}/`) return origin
  }
  throw new BadConfig(`--${flag} needs http://HOST or https://HOST, with a port if it has one, not ${given}`)
}

export const originsFrom = (text: string, flag: string): readonly string[] =>
  text.split(',').map(one => originFrom(one, flag))
