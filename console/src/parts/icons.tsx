/** Line icons. They are decoration: the text beside them, or the label of their button, has the meaning. */
const PATHS = {
  bucket: 'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3ZM4 6l2 13c.2 1.1 2.8 2 6 2s5.8-.9 6-2l2-13',
  folder: 'M3 6a2 2 0 0 1 2-2h4l2 3h8a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2Z',
  file: 'M14 3H7a2 2 0 0 0-2 2v14a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2V8ZM14 3v5h5',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM20 20l-4-4',
  upload: 'M12 16V4M7 9l5-5 5 5M4 20h16',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  trash: 'M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3',
  share: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM12 7v5l3 3',
  settings: 'M4 7h10M18 7h2M16 5v4M4 17h2M10 17h10M8 15v4M4 12h3M11 12h9M9 10v4',
  theme: 'M12 3a9 9 0 1 0 0 18ZM12 3a9 9 0 0 1 0 18',
  menu: 'M4 6h16M4 12h16M4 18h16',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 4l13 8-13 8Z',
  retry: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  close: 'M6 6l12 12M18 6L6 18',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM5 20c0-3.3 3.1-5 7-5s7 1.7 7 5',
  key: 'M15 9a4 4 0 1 0-3.5 4L13 14.5h2v2h2v2h3v-3l-5.3-5.3ZM9 9h.01',
  plus: 'M12 5v14M5 12h14',
  up: 'M6 15l6-6 6 6',
  down: 'M6 9l6 6 6-6',
  alert: 'M12 4 2.5 20h19ZM12 10v4M12 17h.01',
  ledger: 'M6 3h11a2 2 0 0 1 2 2v16H8a2 2 0 0 1-2-2ZM6 19a2 2 0 0 1 2-2h11M10 8h5M10 12h5',
  lock: 'M6 11h12v10H6ZM8.5 11V7a3.5 3.5 0 0 1 7 0v4M12 15v2.5',
  server: 'M4 4h16v6H4ZM4 14h16v6H4ZM8 7h.01M8 17h.01',
  check: 'M5 13l4 4L19 7',
  restore: 'M4 4v6h6M4.5 10A8 8 0 1 1 4 14',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
