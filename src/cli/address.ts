/** URLs of servers, from flags and environment variables. */
import { BadUsage } from './failures.ts'

/** Node's parser accepts more than HTTP URLs: it takes `localhost:9001` for a scheme and a path. */
export function httpUrl(text: string, flag: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new BadUsage(`--${flag} takes http(s)://HOST[:PORT]`)
  if (url.username !== '' || url.password !== '') throw new BadUsage(`--${flag} takes no password: use the environment`)
  return url
}
