"""Windows' names of time zones, with the IANA zone of each (Unicode CLDR, windowsZones.xml, territory 001)."""

from types import MappingProxyType

_TABLE = """
AUS Central|Australia/Darwin
AUS Eastern|Australia/Sydney
Afghanistan|Asia/Kabul
Alaskan|America/Anchorage
Aleutian|America/Adak
Altai|Asia/Barnaul
Arab|Asia/Riyadh
Arabian|Asia/Dubai
Arabic|Asia/Baghdad
Argentina|America/Argentina/Buenos_Aires
Astrakhan|Europe/Astrakhan
Atlantic|America/Halifax
Aus Central W.|Australia/Eucla
Azerbaijan|Asia/Baku
Azores|Atlantic/Azores
Bahia|America/Bahia
Bangladesh|Asia/Dhaka
Belarus|Europe/Minsk
Bougainville|Pacific/Bougainville
Canada Central|America/Regina
Cape Verde|Atlantic/Cape_Verde
Caucasus|Asia/Yerevan
Cen. Australia|Australia/Adelaide
Central America|America/Guatemala
Central Asia|Asia/Bishkek
Central Brazilian|America/Cuiaba
Central Europe|Europe/Budapest
Central European|Europe/Warsaw
Central Pacific|Pacific/Guadalcanal
Central|America/Chicago
Chatham Islands|Pacific/Chatham
China|Asia/Shanghai
Cuba|America/Havana
Dateline|Etc/GMT+12
E. Africa|Africa/Nairobi
E. Australia|Australia/Brisbane
E. Europe|Europe/Chisinau
E. South America|America/Sao_Paulo
Easter Island|Pacific/Easter
Eastern|America/New_York
Egypt|Africa/Cairo
Ekaterinburg|Asia/Yekaterinburg
FLE|Europe/Kyiv
Fiji|Pacific/Fiji
GMT|Europe/London
GTB|Europe/Bucharest
Georgian|Asia/Tbilisi
Greenland|America/Nuuk
Greenwich|Atlantic/Reykjavik
Haiti|America/Port-au-Prince
Hawaiian|Pacific/Honolulu
India|Asia/Kolkata
Iran|Asia/Tehran
Israel|Asia/Jerusalem
Jordan|Asia/Amman
Kaliningrad|Europe/Kaliningrad
Korea|Asia/Seoul
Libya|Africa/Tripoli
Line Islands|Pacific/Kiritimati
Lord Howe|Australia/Lord_Howe
Magadan|Asia/Magadan
Magallanes|America/Punta_Arenas
Marquesas|Pacific/Marquesas
Mauritius|Indian/Mauritius
Middle East|Asia/Beirut
Montevideo|America/Montevideo
Morocco|Africa/Casablanca
Mountain|America/Denver
Myanmar|Asia/Yangon
N. Central Asia|Asia/Novosibirsk
Namibia|Africa/Windhoek
Nepal|Asia/Kathmandu
New Zealand|Pacific/Auckland
Newfoundland|America/St_Johns
Norfolk|Pacific/Norfolk
North Asia East|Asia/Irkutsk
North Asia|Asia/Krasnoyarsk
North Korea|Asia/Pyongyang
Omsk|Asia/Omsk
Pacific SA|America/Santiago
Pacific|America/Los_Angeles
Pakistan|Asia/Karachi
Paraguay|America/Asuncion
Qyzylorda|Asia/Qyzylorda
Romance|Europe/Paris
Russian|Europe/Moscow
SA Eastern|America/Cayenne
SA Pacific|America/Bogota
SA Western|America/La_Paz
SE Asia|Asia/Bangkok
Saint Pierre|America/Miquelon
Sakhalin|Asia/Sakhalin
Samoa|Pacific/Apia
Sao Tome|Africa/Sao_Tome
Saratov|Europe/Saratov
Singapore|Asia/Singapore
South Africa|Africa/Johannesburg
South Sudan|Africa/Juba
Sri Lanka|Asia/Colombo
Sudan|Africa/Khartoum
Syria|Asia/Damascus
Taipei|Asia/Taipei
Tasmania|Australia/Hobart
Tocantins|America/Araguaina
Tokyo|Asia/Tokyo
Tomsk|Asia/Tomsk
Tonga|Pacific/Tongatapu
Transbaikal|Asia/Chita
Turkey|Europe/Istanbul
Turks And Caicos|America/Grand_Turk
US Eastern|America/Indiana/Indianapolis
US Mountain|America/Phoenix
Ulaanbaatar|Asia/Ulaanbaatar
Venezuela|America/Caracas
Vladivostok|Asia/Vladivostok
Volgograd|Europe/Volgograd
W. Australia|Australia/Perth
W. Central Africa|Africa/Lagos
W. Europe|Europe/Berlin
W. Mongolia|Asia/Hovd
West Asia|Asia/Tashkent
West Bank|Asia/Hebron
West Pacific|Pacific/Port_Moresby
Yakutsk|Asia/Yakutsk
Yukon|America/Whitehorse
"""
_OTHERS = {
    "central standard time (mexico)": "America/Mexico_City",
    "eastern standard time (mexico)": "America/Cancun",
    "mountain standard time (mexico)": "America/Mazatlan",
    "pacific standard time (mexico)": "America/Tijuana",
    "russia time zone 3": "Europe/Samara",
    "russia time zone 10": "Asia/Srednekolymsk",
    "russia time zone 11": "Asia/Kamchatka",
    "utc-11": "Etc/GMT+11",
    "utc-09": "Etc/GMT+9",
    "utc-08": "Etc/GMT+8",
    "utc-02": "Etc/GMT+2",
    "utc+12": "Etc/GMT-12",
    "utc+13": "Etc/GMT-13",
    "coordinated universal time": "Etc/UTC",
    "tzone://microsoft/utc": "Etc/UTC",
}

WINDOWS_ZONES = MappingProxyType(
    {
        **{
            f"{name} Standard Time".lower(): zone
            for name, _, zone in (line.partition("|") for line in _TABLE.split("\n") if line)
        },
        **_OTHERS,
    }
)
"""By name in lower case, as Windows and Exchange write it: ``w. europe standard time``."""
