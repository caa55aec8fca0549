"""Queries of PostgreSQL's catalogue, for the read-only endpoint. Every name is qualified, as that endpoint demands;
what the caller says comes in as a parameter only.
"""

TABLES = """
with found as (
  select c.oid, n.nspname, c.relname, c.relkind, c.relrowsecurity, c.reltuples,
         pg_catalog.obj_description(c.oid, 'pg_class') as comment,
         pg_catalog.count(*) over () as total
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and n.nspname in (select pg_catalog.jsonb_array_elements_text($1::jsonb))
    and ($2::text = '' or c.relname = $2::text)
  order by n.nspname, c.relname
  limit $3::int offset $4::int
)
select f.nspname as schema, f.relname as name, f.total,
       case f.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
                      else 'table' end as kind,
       f.relrowsecurity as rls,
       case when f.reltuples >= 0 then f.reltuples::bigint end as rows_estimate,
       f.comment,
       case when $5::boolean then (
         select pg_catalog.json_agg(pg_catalog.json_build_object(
           'name', a.attname,
           'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
           'not_null', a.attnotnull,
           'default', pg_catalog.pg_get_expr(d.adbin, d.adrelid),
           'generated', a.attidentity <> '' or a.attgenerated <> '',
           'comment', pg_catalog.col_description(a.attrelid, a.attnum)) order by a.attnum)
         from pg_catalog.pg_attribute a
         left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
         where a.attrelid = f.oid and a.attnum > 0 and not a.attisdropped
       ) end as columns,
       case when $5::boolean then (
         select pg_catalog.json_agg(pg_catalog.pg_get_constraintdef(k.oid) order by k.contype, k.conname)
         from pg_catalog.pg_constraint k
         where k.conrelid = f.oid and k.contype in ('p', 'u', 'f', 'c')
       ) end as constraints
from found f
order by f.nspname, f.relname
"""
"""$1 schemas as a JSON array, $2 the name of one table or "", $3 limit, $4 offset, $5 whether with columns."""

EXTENSIONS = """
select a.name, a.installed_version, a.default_version, n.nspname as schema, a.comment
from pg_catalog.pg_available_extensions a
left join pg_catalog.pg_extension e on e.extname = a.name
left join pg_catalog.pg_namespace n on n.oid = e.extnamespace
where $1::boolean or e.oid is not null
order by a.installed_version is null, a.name
"""
"""$1 whether those that are not installed are wanted too."""
