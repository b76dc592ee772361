/** Says what a deletion will do before it is done, does it, and tells what was refused. */
import { Alert, Button, Group, List, Progress, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { lastPart, visibleText } from '../format.ts'
import { readVersioning, type Versioning } from '../objects/buckets.ts'
import { deleteAll, keysBelow, type Refused } from '../objects/changes.ts'
import type { Entry } from '../objects/listing.ts'
import { Dialog } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'
import classes from './delete-dialog.module.css'

const t = texts.remove
const REFUSED_SHOWN = 20
const NAMES_SHOWN = 5

interface DeleteDialogProps {
  readonly bucket: string
  readonly entries: readonly Entry[]
  readonly close: () => void
  readonly onDone: () => void
}

function meaning(versioning: Versioning | undefined, count: number): string {
  if (versioning === undefined) return t.unknown(count)
  return { on: t.kept, off: t.lost, suspended: t.suspended }[versioning](count)
}

function RefusedList({ refused }: { readonly refused: readonly Refused[] }) {
  return (
    <Alert role="alert" color="red" variant="outline" title={t.refused(refused.length)}>
      <List size="sm">
        {refused.slice(0, REFUSED_SHOWN).map(({ key, message }) => (
          <List.Item key={key}>
            {visibleText(key)}: {message}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

function Names({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <List size="sm" role="list" className={classes.names}>
      {entries.slice(0, NAMES_SHOWN).map(({ key }) => (
        <List.Item key={key}>
          <span className={classes.name} title={visibleText(key)}>
            {visibleText(lastPart(key))}
          </span>
        </List.Item>
      ))}
      {entries.length > NAMES_SHOWN && <List.Item>{t.more(entries.length - NAMES_SHOWN)}</List.Item>}
    </List>
  )
}

/** The objects that will be deleted are read anew for every dialog. */
function useDoomed(bucket: string, entries: readonly Entry[]) {
  const [counted, setCounted] = useState(0)
  const names = entries.map(({ key }) => key)
  const keys = useQuery({
    queryKey: ['doomed', bucket, names],
    queryFn: ({ signal }) => keysBelow(bucket, entries, { signal, onCount: setCounted }),
    staleTime: 0,
    gcTime: 0,
  })
  // A caller who may not read the setting still may delete.
  const versioning = useQuery({ queryKey: ['versioning', bucket], queryFn: () => readVersioning(bucket), retry: false })
  return { keys, counted, versioning: versioning.data, isPending: keys.isPending || versioning.isPending }
}

/** Closing the dialog stops the deletion after the batch that is on its way. */
function useDeletion(bucket: string, all: readonly string[], onSuccess: (refused: readonly Refused[]) => void) {
  const queries = useQueryClient()
  const stop = useRef<AbortController>(undefined)
  const [done, setDone] = useState(0)
  useEffect(() => () => stop.current?.abort(), [])
  const deletion = useMutation({
    mutationFn: () => {
      stop.current = new AbortController()
      const doomed = all.map(key => ({ key }))
      return deleteAll(bucket, doomed, { signal: stop.current.signal, onProgress: setDone })
    },
    onSuccess: ({ done, refused }) => {
      notify(t.done(done - refused.length))
      if (!stop.current?.signal.aborted) onSuccess(refused)
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ['listing', bucket] }),
  })
  return { deletion, done }
}

export function DeleteDialog({ bucket, entries, close, onDone }: DeleteDialogProps) {
  const { keys, counted, versioning, isPending } = useDoomed(bucket, entries)
  const all = keys.data ?? []
  const { deletion, done } = useDeletion(bucket, all, refused => {
    if (refused.length > 0) return
    onDone()
    close()
  })
  const refused = deletion.data?.refused ?? []
  const isNothing = !isPending && all.length === 0
  return (
    <Dialog title={t.title(entries.length)} close={close}>
      <Stack>
        {keys.error !== null && <Problem error={keys.error} />}
        {deletion.error !== null && <Problem error={deletion.error} />}
        {!deletion.isSuccess && <Names entries={entries} />}
        {isPending && <Text role="status">{t.counting(counted)}</Text>}
        {isNothing && keys.error === null && <Text>{t.none}</Text>}
        {!isPending && all.length > 0 && !(deletion.isPending || deletion.isSuccess) && (
          <Text>{meaning(versioning, all.length)}</Text>
        )}
        {deletion.isPending && (
          <>
            <Text role="status">{t.progress(done, all.length)}</Text>
            <Progress value={(done / all.length) * 100} aria-label={t.progress(done, all.length)} />
          </>
        )}
        {refused.length > 0 && <RefusedList refused={refused} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            {deletion.isPending ? t.stop : deletion.isSuccess ? texts.close : texts.cancel}
          </Button>
          {!isNothing && !deletion.isSuccess && (
            <Button color="red" disabled={isPending} loading={deletion.isPending} onClick={() => deletion.mutate()}>
              {t.confirm(all.length)}
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  )
}
