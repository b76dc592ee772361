/** Reads the standard OpenTelemetry variables. Without an endpoint, tracing is off. */

import type { Sampling, TracerOptions } from '../telemetry/tracer.ts'
import { BadConfig } from './bad-config.ts'

const SAMPLERS: Readonly<Record<string, (ratio: number) => Sampling>> = {
  always_on: () => ({ byParent: false, ratio: 1 }),
  always_off: () => ({ byParent: false, ratio: 0 }),
  traceidratio: ratio => ({ byParent: false, ratio }),
  parentbased_always_on: () => ({ byParent: true, ratio: 1 }),
  parentbased_always_off: () => ({ byParent: true, ratio: 0 }),
  parentbased_traceidratio: ratio => ({ byParent: true, ratio }),
}

const PROTOCOLS = ['http/json', 'http/protobuf']

export function tracingFrom(env: NodeJS.ProcessEnv): TracerOptions | undefined {
  const set = (name: string): string | undefined => (env[name] === '' ? undefined : env[name])
  const whole = set('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const base = set('OTEL_EXPORTER_OTLP_ENDPOINT')
  if ((whole === undefined && base === undefined) || env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined
  const protocol = set('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? set('OTEL_EXPORTER_OTLP_PROTOCOL') ?? 'http/json'
  // Collectors accept both encodings on the same port.
  if (!PROTOCOLS.includes(protocol)) throw new BadConfig(`the OTLP protocol must be http/json, not ${protocol}`)
  return {
    url: urlOf(whole ?? `${base!.replace(/\/+$/, '')}/v1/traces`),
    headers: headersOf(set('OTEL_EXPORTER_OTLP_TRACES_HEADERS') ?? set('OTEL_EXPORTER_OTLP_HEADERS') ?? ''),
    serviceName: set('OTEL_SERVICE_NAME') ?? 'holdfast',
    sampling: samplingOf(set('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on', set('OTEL_TRACES_SAMPLER_ARG') ?? '1'),
  }
}

function urlOf(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new BadConfig('OTEL_EXPORTER_OTLP_ENDPOINT needs an http:// or https:// address')
  }
  return text
}

/** `name=value,name=value`, percent-encoded. They may be secrets, so no error repeats them. */
function headersOf(text: string): Record<string, string> {
  const out: Record<string, string> = {}
  for (const pair of text.split(',').filter(piece => piece.trim() !== '')) {
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*([\x21-\x7e]*)\s*$/.exec(pair) ?? []
    if (name === undefined) throw new BadConfig('OTEL_EXPORTER_OTLP_HEADERS needs name=value,name=value')
    try {
      out[name.toLowerCase()] = decodeURIComponent(value!)
    } catch {
      throw new BadConfig('OTEL_EXPORTER_OTLP_HEADERS has an invalid percent-encoding')
    }
  }
  return out
}

function samplingOf(name: string, argument: string): Sampling {
  const sampler = Object.hasOwn(SAMPLERS, name) ? SAMPLERS[name] : undefined
  if (sampler === undefined)
    throw new BadConfig(`OTEL_TRACES_SAMPLER must be one of ${Object.keys(SAMPLERS).join(', ')}`)
  const ratio = Number(argument)
  if (!(ratio >= 0 && ratio <= 1)) throw new BadConfig('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1')
  return sampler(ratio)
}
