/** The result of one check of `doctor`. */
export interface DoctorFinding {
  readonly check: string
  readonly state: 'good' | 'odd' | 'bad'
  readonly found: string
  readonly advice?: string
}

export const good = (check: string, found: string): DoctorFinding => ({ check, state: 'good', found })

/** Works, but should be changed. */
export const odd = (check: string, found: string, advice: string): DoctorFinding => ({
  ...{ check, state: 'odd', found, advice },
})

/** Must be changed. */
export const bad = (check: string, found: string, advice: string): DoctorFinding => ({
  ...{ check, state: 'bad', found, advice },
})
