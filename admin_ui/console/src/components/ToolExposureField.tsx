import { useMessages } from '../messages/index.tsx'
import { Field, SelectField } from './Field.tsx'

interface ToolExposureFieldProps {
  /** Of a token or a client, or of a role: what decides without it. */
  of: 'credential' | 'role'
  /** As the API has it, such as `plain:github,notion`; null where something else decides. */
  value: string | null
  onChange: (value: string | null) => void
}

const VIEWS = ['meta', 'plain', 'both'] as const
type Choice = (typeof VIEWS)[number] | 'none'

/** As in core/tool_exposure.py. */
const NAME = '[a-z][a-z0-9_]{0,62}'
const NAMES = new RegExp(`^${NAME}(?:\\.${NAME})?(?:\\s*,\\s*${NAME}(?:\\.${NAME})?)*$`)

/** How tools are shown to a client, and which of them as plain ones. */
export function ToolExposureField({ of, value, onChange }: ToolExposureFieldProps) {
  const { toolExposure } = useMessages()
  const [view, names] = splitExposure(value)
  // A role without a setting shows the three.
  const choice: Choice = view ?? (of === 'role' ? 'meta' : 'none')
  const choices: readonly Choice[] = of === 'role' ? VIEWS : ['none', ...VIEWS]
  const choose = (chosen: Choice) => {
    if (chosen === 'none' || (of === 'role' && chosen === 'meta')) onChange(null)
    else onChange(chosen === 'meta' ? chosen : joinExposure(chosen, names))
  }
  return (
    <>
      <SelectField
        label={toolExposure.label}
        help={of === 'role' ? toolExposure.ofRole : toolExposure.ofCredential}
        value={choice}
        choices={choices.map((one) => ({ value: one, label: toolExposure.views[one] }))}
        onChange={choose}
      />
      {(choice === 'plain' || choice === 'both') && (
        <Field
          name="tool_exposure"
          label={toolExposure.names}
          help={toolExposure.namesHelp}
          placeholder="github, jira.search_issues"
          maxLength={1_990}
          value={names}
          onChange={(text) => onChange(joinExposure(choice, text))}
          validate={(text) => (text.trim() === '' || NAMES.test(text.trim()) ? null : toolExposure.wrong)}
        />
      )}
    </>
  )
}

function splitExposure(value: string | null): [view: Choice | undefined, names: string] {
  const [, view, names] = /^([a-z]*):?(.*)$/s.exec(value ?? '') ?? []
  return [VIEWS.find((one) => one === view), names ?? '']
}

function joinExposure(view: Choice, names: string): string {
  return names === '' ? view : `${view}:${names}`
}

/** As it is sent: without the blanks of a field that holds nothing else. */
export function trimExposure(value: string | null): string | null {
  return value?.replace(/:?\s*$/, '') ?? null
}
