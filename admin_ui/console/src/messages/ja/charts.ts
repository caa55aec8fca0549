import type { Messages } from '../index.tsx'

export const charts: Messages['charts'] = {
  asTable: (title) => `${title}を表で見る`,
  time: '日時',
}
