/** Addresses of servers, as flags and their variables name them. */
import { BadUsage } from './failures.ts'

/** What Node's parser takes for an address is more than a client can speak to: `localhost:9001` is one to it. */
export function httpUrl(text: string, flag: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new BadUsage(`--${flag} takes http(s)://HOST[:PORT]`)
  if (url.username !== '' || url.password !== '') throw new BadUsage(`--${flag} takes no password: use the environment`)
  return url
}
