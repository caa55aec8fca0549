export const charts = {
  asTable: (title: string) => `${title} as a table`,
  time: 'Time',
}
