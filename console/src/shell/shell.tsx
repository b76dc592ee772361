/** The frame around every page: header, navigation, work in progress and notices. */
import { ActionIcon, Button, Kbd, Menu, Text, useMantineColorScheme } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { signOut, useSession } from '../api/session.tsx'
import { CopyPanel } from '../copies/copy-panel.tsx'
import { Icon } from '../parts/icons.tsx'
import { Notices } from '../parts/notices.tsx'
import { Link, toBuckets, usePlace } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import { UploadPanel } from '../uploads/upload-panel.tsx'
import { areasFor } from './areas.ts'
import classes from './shell.module.css'

const CommandPalette = lazy(() => import('./command-palette.tsx'))
const t = texts.shell

function ThemeItems() {
  const { setColorScheme } = useMantineColorScheme()
  return (
    <>
      <Menu.Label>{texts.theme}</Menu.Label>
      <Menu.Item onClick={() => setColorScheme('light')}>{t.lightTheme}</Menu.Item>
      <Menu.Item onClick={() => setColorScheme('dark')}>{t.darkTheme}</Menu.Item>
      <Menu.Item onClick={() => setColorScheme('auto')}>{t.systemTheme}</Menu.Item>
    </>
  )
}

function AccountMenu() {
  const { accessKey, account, user, version } = useSession()
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={t.account}>
          <Icon name="user" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <div className={classes.identity}>
          <Text size="sm" fw={600}>
            {t.signedInAs(user ?? account.displayName)}
          </Text>
          <Text size="xs" c="dimmed" ff="monospace">
            {accessKey}
          </Text>
          <Text size="xs" c="dimmed">
            {texts.product} {version}
          </Text>
        </div>
        <Menu.Divider />
        <ThemeItems />
        <Menu.Divider />
        <Menu.Item onClick={() => void signOut()}>{t.signOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

function AreaLinks() {
  const session = useSession()
  const [top = 'buckets'] = usePlace().segments
  return areasFor(session).map(({ label, href }) => (
    <Link key={href} href={href} className={classes.link} aria-current={href === `/${top}` ? 'page' : undefined}>
      {label}
    </Link>
  ))
}

/** Opens with the usual shortcut on every page. */
function usePaletteShortcut(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      open()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [open])
}

export function Shell({ children }: { readonly children: ReactNode }) {
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  usePaletteShortcut(() => setPaletteOpen(true))
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#content">
        {texts.skipToContent}
      </a>
      <header className={classes.header}>
        <nav aria-label={t.navigation} className={classes.navigation}>
          <Link href={toBuckets()} className={classes.brand}>
            <img src="/favicon.svg" alt="" width={26} height={26} />
            <span>{texts.product}</span>
          </Link>
          <AreaLinks />
        </nav>
        <Button
          className={classes.search}
          variant="default"
          leftSection={<Icon name="search" />}
          rightSection={<Kbd size="xs">Ctrl K</Kbd>}
          onClick={() => setPaletteOpen(true)}
        >
          {t.search}
        </Button>
        <ActionIcon
          className={classes.searchIcon}
          variant="default"
          size="lg"
          aria-label={t.search}
          onClick={() => setPaletteOpen(true)}
        >
          <Icon name="search" />
        </ActionIcon>
        <AccountMenu />
      </header>
      <main id="content" className={classes.content} tabIndex={-1}>
        {children}
      </main>
      <div className={classes.work}>
        <CopyPanel />
        <UploadPanel />
      </div>
      <Notices />
      <Suspense>{isPaletteOpen && <CommandPalette close={() => setPaletteOpen(false)} />}</Suspense>
    </div>
  )
}
